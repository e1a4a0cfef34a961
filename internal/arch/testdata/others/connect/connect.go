package connect // stands for connectrpc.com/connect
