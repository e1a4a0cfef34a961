package rpcgatev1 // options: messages without stubs
