package main

import (
	"context"
	"errors"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"

	"google.golang.org/grpc"

	"foreign/gen"
)

// The ways in which a connection is lost in the middle.
const (
	ofClient = iota // the caller closes its connection
	ofSocket        // the socket below it is cut, and gRPC finds out
	ofCall          // the call is given up, and the connection stays
	ways
)

var wayNames = [ways]string{"client", "socket", "call"}

type followed struct {
	Cuts  map[string]int `json:"cuts"`
	Codes map[string]int `json:"codes"`
}

// output ID FOLDER SEED CUTS: write what a run says into FOLDER/stdout and FOLDER/stderr, from where these files end, and
// lose the connection CUTS times on the way.
func output(ctx context.Context, socket string, arguments []string) (any, error) {
	id, folder := arguments[0], arguments[1]
	seed, err := strconv.ParseInt(arguments[2], 10, 64)
	if err != nil {
		return nil, err
	}
	cuts, err := strconv.Atoi(arguments[3])
	if err != nil {
		return nil, err
	}
	taken, err := openFiles(folder)
	if err != nil {
		return nil, err
	}
	connection, err := dial(socket)
	if err != nil {
		return nil, err
	}
	defer func() { connection.Close() }()
	chance, found := rand.New(rand.NewSource(seed)), followed{map[string]int{}, map[string]int{}}
	for {
		way, until := cuts%ways, 0
		if cuts > 0 {
			until = 1 + chance.Intn(2)
		}
		wasCut, err := taken.follow(ctx, connection, id, until, way)
		found.Codes[told(err).Code]++
		if !wasCut {
			return found, err
		}
		cuts--
		found.Cuts[wayNames[way]]++
		if way == ofClient {
			if connection, err = dial(socket); err != nil {
				return nil, err
			}
		}
	}
}

// files are what was taken of both streams; how long they are is where the run is followed on.
type files struct {
	files [2]*os.File
	sizes [2]int32
}

func openFiles(folder string) (*files, error) {
	found := &files{}
	for number, name := range []string{"stdout", "stderr"} {
		file, err := os.OpenFile(filepath.Join(folder, name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return nil, err
		}
		about, err := file.Stat()
		if err != nil {
			return nil, err
		}
		found.files[number], found.sizes[number] = file, int32(about.Size())
	}
	return found, nil
}

// follow takes pieces until the run ends, or until the connection is lost after some of them. What comes although it is
// lost is taken, too.
func (taken *files) follow(
	ctx context.Context, connection *dialed, id string, until int, way int,
) (wasCut bool, err error) {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	request := &gen.FollowIORequest{Id: id, ReadStdout: taken.sizes[0], ReadStderr: taken.sizes[1]}
	stream, err := gen.NewStepRunnerClient(connection).FollowIO(ctx, request, grpc.WaitForReady(true))
	if err != nil {
		return false, err
	}
	for pieces := 0; ; pieces++ {
		if until > 0 && pieces == until {
			wasCut = true
			switch way {
			case ofClient:
				connection.Close()
			case ofSocket:
				connection.socket.Close()
			case ofCall:
				giveUp()
			}
		}
		piece, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return wasCut, nil
		}
		if err != nil {
			return wasCut, err
		}
		number := piece.StreamType.Number()
		if _, err := taken.files[number].Write(piece.Stream); err != nil {
			return false, err
		}
		taken.sizes[number] += int32(len(piece.Stream))
	}
}

// results ID: how many results of steps come until a run has ended. The document says nothing of what is in them.
func results(ctx context.Context, socket string, arguments []string) (any, error) {
	return asked(socket, func(client gen.StepRunnerClient) (any, error) {
		stream, err := client.Follow(ctx, &gen.FollowRequest{Id: arguments[0]})
		if err != nil {
			return nil, err
		}
		for count := 0; ; count++ {
			response, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return count, nil
			}
			if err != nil {
				return nil, err
			}
			if response.Result == nil {
				return nil, errors.New("a response has no result")
			}
		}
	})
}
