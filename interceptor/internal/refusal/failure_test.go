package refusal

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestFailuresOfTheCallerAreToldFromThoseOfAnAdmitter(t *testing.T) {
	for _, test := range []struct {
		err  error
		want Failure
	}{
		{fmt.Errorf("waiting: %w", context.Canceled), Failure{1, 499, "canceled", "waiting: context canceled"}},
		{context.DeadlineExceeded, Failure{4, 504, "deadline_exceeded", "context deadline exceeded"}},
		{errors.New("dial tcp: secret-db"), Failure{13, 500, "not_admitted", "call not admitted"}},
	} {
		if got := FailureOf(test.err); got != test.want {
			t.Errorf("%v is %+v, want %+v", test.err, got, test.want)
		}
	}
}
