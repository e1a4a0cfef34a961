package grpc // stands for google.golang.org/grpc
