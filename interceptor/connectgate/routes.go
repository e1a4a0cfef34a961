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
func registered(route string) bool {
	name := strings.TrimPrefix(route, "/")
	slash := strings.LastIndexByte(name, '/')
	if slash < 0 {
		return false
	}
	service, method := protoreflect.FullName(name[:slash]), protoreflect.Name(name[slash+1:])
	if !service.IsValid() || !method.IsValid() {
		return false
	}
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(service.Append(method))
	if err != nil {
		return false
	}
	_, ok := d.(protoreflect.MethodDescriptor)
	return ok
}

// knownRoutes caches registered, which is too slow for every call. It does not cache
// routes that are not registered, because clients can invent any number of them.
type knownRoutes struct {
	routes atomic.Pointer[map[string]string] // each route by itself
}

// has reports whether a route is registered.
func (k *knownRoutes) has(route string) bool {
	_, ok := k.find(route)
	return ok
}

// find reports whether a route is registered. It returns the cache's own copy then,
// since route may be a part of a long URL.
func (k *knownRoutes) find(route string) (own string, ok bool) {
	for {
		old := k.routes.Load()
		if old != nil {
			if own, ok := (*old)[route]; ok {
				return own, true
			}
		}
		if !registered(route) {
			return "", false
		}
		own := strings.Clone(route)
		routes := map[string]string{own: own}
		if old != nil {
			maps.Copy(routes, *old)
		}
		if k.routes.CompareAndSwap(old, &routes) {
			return own, true
		}
	}
}
