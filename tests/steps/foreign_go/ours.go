//go:build ours

// What the document leaves open is in our file: steps, their results, and the second service.

package main

import (
	"context"
	"errors"
	"io"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"

	"foreign/gen"
	"foreign/gen/runs"
)

func init() {
	commands["steps"] = steps
	commands["whole"] = whole
}

// steps ID FOLDER REFERENCE: run a step with an input twice, as a list of messages, and say what became of each. The
// connection is dropped after every result, and the next one goes on behind it.
func steps(ctx context.Context, socket string, arguments []string) (any, error) {
	inputs := map[string]*structpb.Value{"who": structpb.NewStringValue("Go"), "times": structpb.NewNumberValue(2)}
	call := &gen.Step{Name: "first", Step: structpb.NewStringValue(arguments[2]), Inputs: inputs}
	again := &gen.Step{Name: "again", Script: `echo "${{ steps.first.outputs.line }} $FROM"`, Env: map[string]string{"FROM": "Go"}}
	request := &gen.RunRequest{
		Id: arguments[0], WorkDir: arguments[1], Type: gen.RunRequest_step, Steps: []*gen.Step{call, again},
	}
	_, err := asked(socket, func(client gen.StepRunnerClient) (any, error) { return client.Run(ctx, request) })
	if err != nil {
		return nil, err
	}
	found := []string{}
	for {
		result, err := asked(socket, func(client gen.StepRunnerClient) (*gen.StepResult, error) {
			read := int64(len(found))
			stream, err := client.Follow(ctx, &gen.FollowRequest{Id: arguments[0], ReadResults: read})
			if err != nil {
				return nil, err
			}
			response, err := stream.Recv()
			return response.GetResult(), err
		})
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		found = append(found, strings.Join(result.Path, "/")+" "+result.Status.String())
	}
}

// whole ID: the log of a run by the second service, in one, and close the run.
func whole(ctx context.Context, socket string, arguments []string) (any, error) {
	connection, err := dial(socket)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	client := runs.NewRunsClient(connection)
	stream, err := client.FollowLogs(ctx, &runs.FollowLogsRequest{Id: arguments[0]}, grpc.WaitForReady(true))
	if err != nil {
		return nil, err
	}
	text := []byte{}
	for {
		piece, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		text = append(text, piece.Data...)
	}
	_, err = client.Close(ctx, &runs.CloseRequest{Id: arguments[0]})
	return string(text), err
}
