package keycloaktest

import (
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"parley/cmd/parley/e2e/helpers/servertest"
)

// release is the newest one that runs with Java 17.
const release = "26.7.3"

// prepare fetches Keycloak with Maven and imports the realm.
//
//go:embed prepare.sh
var prepare string

//go:embed realm.json
var realm string

var program = servertest.Program{
	Name: "keycloak", Version: release + "-" + digest(), Variable: "PARLEY_TEST_KEYCLOAK",
	Steps: [][]string{{"/bin/sh", "-c", prepare, "prepare", release, realm}},
}

// digest changes with what the stored folder is made by.
func digest() string {
	sum := sha256.Sum256([]byte(prepare + realm))
	return fmt.Sprintf("%x", sum[:4])
}

// server is a running Keycloak.
type server struct {
	issuer   string
	log      string   // the path of its log
	lifeline *os.File // the server ends when this closes
}

// shared is the server of this process. It keeps the lifeline open.
var shared = sync.OnceValues(func() (srv *server, err error) {
	folder, err := program.Path()
	if err != nil {
		return nil, err
	}
	err = servertest.OnFreePort(func(address string) (err error) {
		srv, err = start(folder, address)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("keycloaktest: start %s: %w", folder, err)
	}
	return srv, nil
})

// start runs a prepared Keycloak with a folder of its own: a copy of the database, and links
// to what does not change.
func start(folder, address string) (*server, error) {
	dir, err := os.MkdirTemp("", fmt.Sprintf("parley-keycloak-%d-", os.Getpid()))
	if err != nil {
		return nil, err
	}
	srv := &server{issuer: "http://" + address + "/realms/parley", log: filepath.Join(dir, "log")}
	err = errors.Join(
		os.CopyFS(filepath.Join(dir, "data", "h2"), os.DirFS(filepath.Join(folder, "data", "h2"))),
		os.Symlink(filepath.Join(folder, "lib"), filepath.Join(dir, "lib")),
		os.Symlink(filepath.Join(folder, "conf"), filepath.Join(dir, "conf")),
		os.Mkdir(filepath.Join(dir, "tmp"), 0o700),
	)
	if err == nil {
		ready := func() error { return servertest.Healthy(srv.issuer + "/.well-known/openid-configuration") }
		srv.lifeline, err = servertest.Serve(dir, environment(), ready, command(folder, dir, address)...)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return srv, nil
}

// command is what bin/kc.sh runs, as one process, with less memory and faster to start.
func command(folder, dir, address string) []string {
	java := "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java = filepath.Join(home, "bin", "java")
	}
	_, port, _ := net.SplitHostPort(address)
	args := []string{java, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Djava.io.tmpdir=" + filepath.Join(dir, "tmp"), "-Dkc.home.dir=" + dir, "-Djboss.server.config.dir=" + filepath.Join(dir, "conf"),
		"-Djava.util.logging.manager=org.jboss.logmanager.LogManager", "-Dpicocli.disable.closures=true", "-Duser.language=en", "-Duser.country=US"}
	for _, opened := range []string{"java.util", "java.util.concurrent", "java.security", "java.lang"} {
		args = append(args, "--add-opens=java.base/"+opened+"=ALL-UNNAMED")
	}
	return append(args, "-cp", filepath.Join(folder, "lib", "quarkus-run.jar"), "io.quarkus.bootstrap.runner.QuarkusEntryPoint",
		"start", "--optimized", "--cache=local", "--http-enabled=true", "--hostname-strict=false", "--http-host=127.0.0.1", "--http-port="+port)
}

// environment is this process's environment without settings of the server.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "KC_") || strings.HasPrefix(kv, "QUARKUS_") || strings.HasPrefix(kv, "JAVA_TOOL_OPTIONS=")
	})
}
