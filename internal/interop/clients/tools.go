package main

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
)

// tool is a program or library that somebody else wrote.
type tool struct {
	name     string
	packages []string // of Debian
	ask      []string // prints its version
	libs     []string // patterns of files that must be there, too
}

// python is that of Debian, whose libraries are tested, not another in the path.
const python = "/usr/bin/python3"

var number = regexp.MustCompile(`\d+(\.\d+)+`)

// version asks for it. An error means that the tool is not installed.
func (t tool) version(ctx context.Context) (string, error) {
	for _, lib := range t.libs {
		if found, _ := filepath.Glob(lib); found == nil {
			return "", errors.New(lib + " is missing")
		}
	}
	out, err := exec.CommandContext(ctx, t.ask[0], t.ask[1:]...).CombinedOutput()
	if err != nil {
		return "", err
	}
	return string(number.Find(bytes.TrimSpace(out))), nil
}

func pythonGRPC() tool {
	return tool{name: "Python gRPC (C-core)", packages: []string{"python3-grpcio"},
		ask: []string{python, "-c", "import grpc; print(grpc.__version__)"}}
}

func rubyGRPC() tool {
	return tool{name: "Ruby gRPC (C-core)", packages: []string{"ruby-grpc"},
		ask: []string{"ruby", "-rgrpc", "-e", "puts GRPC::VERSION"}}
}

func javaGRPC() tool {
	return tool{name: "grpc-java", packages: []string{"default-jdk-headless", "libgrpc-java", "libnetty-java", "libperfmark-java"},
		ask:  []string{"sh", "-c", "java -version >/dev/null 2>&1 && readlink -f /usr/share/java/grpc-netty.jar"},
		libs: []string{"/usr/share/java/grpc-netty.jar", "/usr/share/java/netty-all.jar", "/usr/share/java/perfmark-api.jar"}}
}

func pythonRequests() tool {
	return tool{name: "requests", packages: []string{"python3-requests"},
		ask: []string{python, "-c", "import requests; print(requests.__version__)"}}
}

func connectNode() tool {
	return tool{name: "connect-node", packages: []string{"nodejs", "npm"},
		ask: []string{"node", "-p", `require("./internal/interop/js/package.json").dependencies["@connectrpc/connect-node"]`}}
}

func curl() tool {
	return tool{name: "curl", packages: []string{"curl"}, ask: []string{"curl", "--version"}}
}

func connectWeb() tool {
	return tool{name: "connect-web in Chromium", packages: []string{"chromium", "nodejs", "npm"}, ask: []string{"chromium", "--version"}}
}
