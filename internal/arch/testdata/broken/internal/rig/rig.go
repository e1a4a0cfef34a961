package rig // a server for tests: they may use it, library packages may not
