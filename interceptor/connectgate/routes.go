package connectgate

import (
	"maps"
	"strings"
	"sync/atomic"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// registered reports whether the program knows the method of this route from a .proto
// file. It does for all services with generated code.
func registered(route string) bool { return methodOf(route) != nil }

// methodOf returns the method of a route, or nil if the program does not know it.
func methodOf(route string) protoreflect.MethodDescriptor {
	name := strings.TrimPrefix(route, "/")
	slash := strings.LastIndexByte(name, '/')
	if slash < 0 {
		return nil
	}
	service, method := protoreflect.FullName(name[:slash]), protoreflect.Name(name[slash+1:])
	if !service.IsValid() || !method.IsValid() {
		return nil
	}
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(service.Append(method))
	if err != nil {
		return nil
	}
	found, _ := d.(protoreflect.MethodDescriptor)
	return found
}

// knownRoutes caches methodOf, which is too slow for every call. It does not cache
// routes that are not registered, because clients can invent any number of them.
type knownRoutes struct {
	routes atomic.Pointer[map[string]knownRoute]
}

// knownRoute is a route with the cache's own copy of its name, since the one that is
// looked up may be a part of a long URL.
type knownRoute struct {
	route string
	unary bool
}

// has reports whether a route is registered.
func (k *knownRoutes) has(route string) bool {
	_, ok := k.find(route)
	return ok
}

// isUnary reports whether a route is registered and unary.
func (k *knownRoutes) isUnary(route string) bool {
	found, _ := k.find(route)
	return found.unary
}

// find reports whether a route is registered.
func (k *knownRoutes) find(route string) (found knownRoute, ok bool) {
	for {
		old := k.routes.Load()
		if old != nil {
			if found, ok := (*old)[route]; ok {
				return found, true
			}
		}
		method := methodOf(route)
		if method == nil {
			return knownRoute{}, false
		}
		own := strings.Clone(route)
		found := knownRoute{route: own, unary: !method.IsStreamingClient() && !method.IsStreamingServer()}
		routes := map[string]knownRoute{own: found}
		if old != nil {
			maps.Copy(routes, *old)
		}
		if k.routes.CompareAndSwap(old, &routes) {
			return found, true
		}
	}
}
