// A client of the step runner as somebody else would write it: stock gRPC for Go, and what protoc makes of the
// requirement document's own file. It uses nothing that the document does not define.
//
//	client SOCKET COMMAND ARGUMENT...
//
// Each command prints one JSON document.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"foreign/gen"
)

const patience = 120 * time.Second

// A command takes its arguments and gives what is to be printed.
type command func(ctx context.Context, socket string, arguments []string) (any, error)

var commands = map[string]command{
	"run":     run,
	"output":  output,
	"results": results,
	"cancel":  cancel,
	"list":    list,
	"refused": refused,
}

func main() {
	if len(os.Args) < 3 || commands[os.Args[2]] == nil {
		fmt.Fprintln(os.Stderr, "usage: client SOCKET COMMAND ARGUMENT...")
		os.Exit(2)
	}
	ctx, done := context.WithTimeout(context.Background(), patience)
	defer done()
	found, err := commands[os.Args[2]](ctx, os.Args[1], os.Args[3:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A dialed connection, and the socket below it, which can be cut without gRPC's knowledge.
type dialed struct {
	*grpc.ClientConn
	socket net.Conn
}

func dial(socket string) (*dialed, error) {
	found := &dialed{}
	dialer := func(ctx context.Context, path string) (net.Conn, error) {
		connection, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
		found.socket = connection
		return connection, err
	}
	credentials := grpc.WithTransportCredentials(insecure.NewCredentials())
	connection, err := grpc.NewClient("passthrough:///"+socket, credentials, grpc.WithContextDialer(dialer))
	found.ClientConn = connection
	return found, err
}

// asked makes one call on a connection of its own.
func asked[T any](socket string, call func(gen.StepRunnerClient) (T, error)) (T, error) {
	connection, err := dial(socket)
	if err != nil {
		var nothing T
		return nothing, err
	}
	defer connection.Close()
	return call(gen.NewStepRunnerClient(connection))
}

// run ID FOLDER SCRIPT: begin a script, with a variable.
func run(ctx context.Context, socket string, arguments []string) (any, error) {
	request := script(arguments[0], arguments[1], arguments[2])
	return asked(socket, func(client gen.StepRunnerClient) (any, error) {
		_, err := client.Run(ctx, request, grpc.WaitForReady(true))
		return "begun", err
	})
}

func script(id, folder, text string) *gen.RunRequest {
	return &gen.RunRequest{
		Id: id, WorkDir: folder, Type: gen.RunRequest_script, CiScript: text, Env: map[string]string{"FROM": "Go"},
	}
}

// cancel ID: let a run end.
func cancel(ctx context.Context, socket string, arguments []string) (any, error) {
	return asked(socket, func(client gen.StepRunnerClient) (any, error) {
		_, err := client.Cancel(ctx, &gen.CancelRequest{Id: arguments[0]})
		return told(err), nil
	})
}

type job struct {
	ID       string `json:"id"`
	Status   string `json:"status"`
	Number   int32  `json:"number"`
	Finished int64  `json:"finished"`
}

// list: all runs. A status that the document does not have is its number.
func list(ctx context.Context, socket string, _ []string) (any, error) {
	return asked(socket, func(client gen.StepRunnerClient) (any, error) {
		response, err := client.List(ctx, &gen.ListRequest{})
		found := []job{}
		for _, one := range response.GetJobs() {
			finished := int64(0)
			if one.FinishedTime != nil {
				finished = one.FinishedTime.AsTime().Unix()
			}
			found = append(found, job{one.Id, one.Status.String(), int32(one.Status.Number()), finished})
		}
		return found, err
	})
}

type answer struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func told(err error) answer {
	found := status.Convert(err)
	return answer{found.Code().String(), found.Message()}
}

// refused FOLDER: what the service must not take, by what is wrong with it.
func refused(ctx context.Context, socket string, arguments []string) (any, error) {
	found := map[string]answer{}
	_, err := asked(socket, func(client gen.StepRunnerClient) (any, error) {
		for what, request := range wrong(arguments[0]) {
			_, err := client.Run(ctx, request)
			found[what] = told(err)
		}
		return nil, nil
	})
	return found, err
}

func wrong(folder string) map[string]*gen.RunRequest {
	found := map[string]*gen.RunRequest{}
	change := func(what string, change func(*gen.RunRequest)) {
		request := script("wrong", folder, "touch done")
		change(request)
		found[what] = request
	}
	for _, name := range []string{"", "1A", "A-B", "A B", "A=B", "É", "A\n", "A\x00", "$A"} {
		change("name "+name, func(request *gen.RunRequest) { request.Env = map[string]string{name: "x"} })
	}
	for _, id := range []string{"", ".", "..", "a/b", "../x", "a\x00"} {
		change("id "+id, func(request *gen.RunRequest) { request.Id = id })
	}
	change("type unknown", func(request *gen.RunRequest) { request.Type = gen.RunRequest_unknown })
	change("type 7", func(request *gen.RunRequest) { request.Type = 7 })
	change("type -1", func(request *gen.RunRequest) { request.Type = -1 })
	change("neither, script", func(request *gen.RunRequest) { request.CiScript = "" })
	change("neither, steps", func(request *gen.RunRequest) {
		request.Type, request.CiScript = gen.RunRequest_step, ""
	})
	change("both, script", func(request *gen.RunRequest) { request.Steps = []*gen.Step{{}} })
	change("both, steps", func(request *gen.RunRequest) {
		request.Type, request.Steps = gen.RunRequest_step, []*gen.Step{{}}
	})
	change("the other, script", func(request *gen.RunRequest) {
		request.CiScript, request.Steps = "", []*gen.Step{{}}
	})
	change("the other, steps", func(request *gen.RunRequest) { request.Type = gen.RunRequest_step })
	return found
}
