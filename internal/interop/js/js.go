// Package js runs the scripts in its folder: clients of JavaScript, in node and in a browser.
package js

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
)

// Install installs the packages that package-lock.json pins, unless they are. dir is the folder of the scripts.
func Install(ctx context.Context, dir string) error {
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			return errors.New(tool + " is not installed: this needs node 20 or later with npm (on Debian: apt-get install nodejs npm)")
		}
	}
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return err
	}
	mark := filepath.Join(dir, "node_modules", ".installed") // a copy of the lock file that they were installed by
	installed, err := os.ReadFile(mark)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if bytes.Equal(lock, installed) {
		return nil
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return os.WriteFile(mark, lock, 0o600)
}

// Job is what a script reads: the schema of the echo service and of what refusals carry, so that it needs no generated
// code, and the targets to call.
func Job(targets any) ([]byte, error) {
	var set descriptorpb.FileDescriptorSet
	seen := map[string]bool{}
	var add func(protoreflect.FileDescriptor)
	add = func(file protoreflect.FileDescriptor) {
		if seen[file.Path()] {
			return
		}
		seen[file.Path()] = true
		for i := range file.Imports().Len() {
			add(file.Imports().Get(i))
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(file))
	}
	add((&testv1.UnaryRequest{}).ProtoReflect().Descriptor().ParentFile())
	add((&errdetails.RetryInfo{}).ProtoReflect().Descriptor().ParentFile())
	descriptors, err := proto.Marshal(&set)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"descriptors": descriptors, "targets": targets})
}
