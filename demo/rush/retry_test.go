package rush

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/durationpb"

	ordersv1 "github.com/rpcgate/rpcgate/gen/demo/orders/v1"
)

func refusal(t *testing.T, code connect.Code, retryInfo time.Duration, retryAfter string) error {
	t.Helper()
	err := connect.NewError(code, errors.New("server busy"))
	if retryInfo > 0 {
		detail, detailErr := connect.NewErrorDetail(&errdetails.RetryInfo{RetryDelay: durationpb.New(retryInfo)})
		if detailErr != nil {
			t.Fatal(detailErr)
		}
		err.AddDetail(detail)
	}
	if retryAfter != "" {
		err.Meta().Set("Retry-After", retryAfter)
	}
	return err
}

func TestRetryingInterceptor(t *testing.T) {
	t.Parallel()
	const exhausted, unavailable = connect.CodeResourceExhausted, connect.CodeUnavailable
	ms := func(list ...int) (times []time.Duration) {
		for _, n := range list {
			times = append(times, time.Duration(n)*time.Millisecond)
		}
		return times
	}
	tests := []struct {
		name     string
		answers  []error // of the attempts in turn; the last one repeats
		deadline time.Duration
		want     []time.Duration // when the attempts were made
		wantErr  connect.Code    // 0: none
	}{
		{"answered", []error{nil}, time.Second, ms(0), 0},
		{"waits as told", []error{refusal(t, exhausted, 250*time.Millisecond, "1"), nil}, time.Second, ms(0, 250), 0},
		{"draining", []error{refusal(t, unavailable, 250*time.Millisecond, "1"), nil}, time.Second, ms(0, 250), 0},
		{"whole seconds", []error{refusal(t, exhausted, 0, "2"), nil}, 10 * time.Second, ms(0, 2000), 0},
		{"told to come too late", []error{refusal(t, exhausted, time.Second, "1")}, time.Second, ms(0), exhausted},
		{"no time left", []error{refusal(t, exhausted, 400*time.Millisecond, "")}, time.Second, ms(0, 400, 800), exhausted},
		{"attempts run out", []error{refusal(t, exhausted, 10*time.Millisecond, "")}, time.Second, ms(0, 10, 20, 30, 40), exhausted},
		{"other errors", []error{connect.NewError(connect.CodeInternal, nil)}, time.Second, ms(0), connect.CodeInternal},
		{"deadline", []error{context.DeadlineExceeded}, time.Second, ms(0), connect.CodeUnknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var at []time.Duration
				ctx, cancel := context.WithTimeout(t.Context(), tt.deadline)
				defer cancel()
				ctx, record := recordAttempts(ctx)
				call := retryingInterceptor(testPolicy())(func(context.Context, connect.AnyRequest) (connect.AnyResponse, error) {
					at = append(at, time.Since(began))
					return nil, tt.answers[min(len(at), len(tt.answers))-1]
				})
				_, err := call(ctx, connect.NewRequest(&ordersv1.ListOpenOrdersRequest{}))
				if !slices.Equal(at, tt.want) {
					t.Errorf("attempts at %v, want %v", at, tt.want)
				}
				if count, _ := record.result(); count != len(tt.want) {
					t.Errorf("%d attempts recorded, want %d", count, len(tt.want))
				}
				if (err == nil) != (tt.wantErr == 0) || err != nil && connect.CodeOf(err) != tt.wantErr {
					t.Errorf("error %v, want code %v", err, tt.wantErr)
				}
			})
		})
	}
}

func TestRetryingInterceptorBacksOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var pauses []time.Duration
		call := retryingInterceptor(testPolicy())(func(context.Context, connect.AnyRequest) (connect.AnyResponse, error) {
			pauses = append(pauses, time.Since(began))
			began = time.Now()
			return nil, connect.NewError(connect.CodeUnavailable, nil)
		})
		call(t.Context(), connect.NewRequest(&ordersv1.ListOpenOrdersRequest{}))
		want := []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond, 300 * time.Millisecond}
		if len(pauses) != len(want) {
			t.Fatalf("%d attempts, want %d", len(pauses), len(want))
		}
		for i, d := range pauses {
			if d < want[i]*8/10 || d > want[i]*12/10 {
				t.Errorf("pause %d was %v, want %v give or take a fifth", i, d, want[i])
			}
		}
	})
}

func TestRetryingInterceptorStopsWhenTheCallerLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		count := 0
		call := retryingInterceptor(testPolicy())(func(context.Context, connect.AnyRequest) (connect.AnyResponse, error) {
			count++
			return nil, connect.NewError(connect.CodeUnavailable, nil)
		})
		if _, err := call(ctx, connect.NewRequest(&ordersv1.ListOpenOrdersRequest{})); err == nil || count != 1 {
			t.Errorf("%d attempts, error %v; want 1 attempt and an error", count, err)
		}
	})
}

func testPolicy() retryPolicy {
	return retryPolicy{
		maxAttempts:    5,
		initialBackoff: 100 * time.Millisecond,
		maxBackoff:     300 * time.Millisecond,
		multiplier:     2,
	}
}
