package main

import "slices"

// rows are all rows of the table.
func rows() []row { return slices.Concat(grpcRows(), httpRows(), jsRows(), proxyRows()) }
