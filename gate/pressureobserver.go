package gate

// PressureObserver is an [Observer] that hears of calls in trouble even while it
// is not enabled: of each call that was rejected or had to wait, be it in vain.
// So it can say what went wrong before anybody looked, and a call that is
// admitted at once pays nothing for it.
//
// Among these events are the releases of calls that had to wait. Calls whose
// context had ended before they came are not among them.
//
// An observer that is never enabled may say so by a method `PressureOnly() bool`
// that always returns true. Then not even the question is asked of a call that
// is admitted at once.
type PressureObserver interface {
	Observer
	// ObservesPressure reports whether the Observer wants this. It is asked
	// with the gate's lock held, so it must do nothing but answer, always the
	// same.
	ObservesPressure() bool
}

func observesPressure(o Observer) bool {
	p, ok := o.(PressureObserver)
	return ok && p.ObservesPressure()
}

// pressureOnly reports whether no observer wants to hear of calls that are
// admitted at once.
func (g *Gate) pressureOnly() bool {
	observers := g.observers.Load()
	if observers == nil {
		return true
	}
	for _, o := range *observers {
		if p, ok := o.(interface{ PressureOnly() bool }); !ok || !p.PressureOnly() {
			return false
		}
	}
	return true
}

// pressureObserved reports whether somebody wants to hear of a call that is not
// admitted at once.
func (g *Gate) pressureObserved() bool {
	observers := g.observers.Load()
	if observers == nil {
		return false
	}
	for _, o := range *observers {
		if observesPressure(o) {
			return true
		}
	}
	return false
}

// underPressure reports whether the event is of a call that was not admitted at
// once.
func (e *Event) underPressure() bool {
	return e.Decision.Rejected() || e.Decision == Abandoned || e.Waited > 0
}
