/** The rooms of the product as one table: who may import whom (DESIGN §3). */

export interface Room {
  /** Its folder, or its one file. A file is in the innermost folder that is a room. */
  readonly room: string
  readonly purpose: string
  /**
   * Rooms that it imports, and packages; `node:` stands for all that Node brings. Nothing else may be
   * imported.
   */
  readonly imports: readonly string[]
}

/** From the inside out: a room imports only rooms above it. */
export const ROOMS: readonly Room[] = [
  {
    room: 'engine/',
    purpose: 'the rule, pure',
    imports: [],
  },
  {
    room: 'matrix/document/',
    purpose: 'reads JSON and YAML documents strictly',
    imports: ['engine/', 'jsonc-parser', 'yaml'],
  },
  {
    room: 'matrix/',
    purpose: 'the facts',
    imports: ['engine/', 'matrix/document/', 'yaml'],
  },
  {
    room: 'matrix/import/',
    purpose: 'reads the tables of documents as a matrix, and writes one',
    imports: ['engine/', 'matrix/document/', 'matrix/', 'marked', 'htmlparser2', 'csv-parse'],
  },
  {
    room: 'proto/gen/',
    purpose: 'the messages of the contract, generated',
    imports: ['@bufbuild/protobuf', '@grpc/grpc-js'],
  },
  {
    room: 'clients/typescript/',
    purpose: 'the client of the contract',
    imports: ['engine/', 'proto/gen/', 'node:', '@grpc/grpc-js'],
  },
  {
    room: 'sidecar/base/',
    purpose: 'values that every room of the sidecar may use',
    imports: ['engine/', 'node:'],
  },
  {
    room: 'sidecar/base/net/',
    purpose: 'the parts of servers: sockets, connections, certificates, and the pools of clients',
    imports: ['sidecar/base/', 'node:', 'undici'],
  },
  {
    room: 'sidecar/base/http/',
    purpose: 'requests and replies of the HTTP server, and its routes',
    imports: ['sidecar/base/', 'node:', 'find-my-way'],
  },
  {
    room: 'sidecar/transports/http2/hpack/',
    purpose: 'the compression of headers',
    imports: [],
  },
  {
    room: 'sidecar/transports/http2/',
    purpose: 'HTTP/2 on sockets, whatever it carries',
    imports: ['sidecar/base/net/', 'sidecar/transports/http2/hpack/', 'node:'],
  },
  {
    room: 'sidecar/rules/routes/',
    purpose: 'which API a request is for',
    imports: ['sidecar/base/'],
  },
  {
    room: 'sidecar/config/',
    purpose: 'the configuration, checked',
    imports: ['engine/', 'matrix/document/', 'sidecar/base/', 'sidecar/base/net/', 'node:', 'yaml'],
  },
  {
    room: 'sidecar/directory/',
    purpose: 'the records of accounts and people; the only room that knows a database',
    imports: ['sidecar/base/', 'sidecar/base/net/', 'node:', 'p-limit', 'pg'],
  },
  {
    room: 'sidecar/directory/backup/',
    purpose: 'the directory as one file, and back',
    imports: ['sidecar/base/', 'sidecar/directory/', 'node:', 'pg'],
  },
  {
    room: 'sidecar/authority/',
    purpose: 'passwords, tokens and keys: issues, verifies, revokes',
    imports: [
      ...['engine/', 'sidecar/base/', 'sidecar/base/net/', 'sidecar/directory/'],
      ...['sidecar/directory/backup/', 'node:', '@simplewebauthn/server', 'ipaddr.js'],
      ...['lru-cache', 'otpauth'],
    ],
  },
  {
    room: 'sidecar/authority/upstream/',
    purpose: 'identity endpoints of others, and the tokens that profiles obtain',
    imports: [
      ...['engine/', 'matrix/document/', 'sidecar/base/', 'sidecar/base/net/', 'sidecar/config/'],
      ...['sidecar/authority/', 'node:', 'cockatiel', 'node-cache', 'p-limit', 'undici'],
    ],
  },
  {
    room: 'sidecar/authority/hub/',
    purpose: 'a directory that another sidecar has',
    imports: [
      ...['engine/', 'proto/gen/', 'sidecar/base/', 'sidecar/directory/', 'sidecar/authority/'],
      ...['node:', '@bufbuild/protobuf', '@grpc/grpc-js'],
    ],
  },
  {
    room: 'sidecar/rules/matrix-file/',
    purpose: 'reads a matrix, a large one in a thread',
    imports: ['engine/', 'matrix/document/', 'matrix/', 'sidecar/base/', 'node:', 'yaml'],
  },
  {
    room: 'sidecar/rules/',
    purpose: 'the matrix in force',
    imports: ['engine/', 'matrix/', 'sidecar/base/', 'sidecar/rules/matrix-file/', 'node:'],
  },
  {
    room: 'sidecar/usecases/',
    purpose: 'who may do what, once for every protocol',
    imports: [
      ...['engine/', 'matrix/', 'sidecar/base/', 'sidecar/directory/', 'sidecar/rules/routes/'],
      ...['sidecar/authority/', 'sidecar/rules/', 'node:', 'pino'],
    ],
  },
  {
    room: 'sidecar/proxies/',
    purpose: 'what proxies ask, and what the sidecar answers about the requests of others',
    imports: [
      ...['engine/', 'sidecar/base/', 'sidecar/base/http/', 'sidecar/base/net/', 'sidecar/rules/routes/'],
      ...['sidecar/authority/', 'sidecar/usecases/', 'node:', 'pino'],
    ],
  },
  {
    room: 'sidecar/contract/',
    purpose: 'the handlers of the contract, and how its calls end',
    imports: [
      ...['engine/', 'matrix/', 'proto/gen/', 'sidecar/base/', 'sidecar/base/net/'],
      ...['sidecar/authority/', 'sidecar/rules/routes/', 'sidecar/usecases/', 'sidecar/proxies/'],
      ...['node:', '@bufbuild/protobuf', '@grpc/grpc-js', '@grpc/reflection'],
    ],
  },
  {
    room: 'sidecar/transports/',
    purpose: 'what a transport is, who may connect to it, and the life of a call, whichever carries it',
    imports: ['sidecar/base/', 'sidecar/base/net/', 'sidecar/contract/', 'node:'],
  },
  {
    room: 'sidecar/transports/sockets/',
    purpose: 'gRPC on HTTP/2 of our own',
    imports: [
      ...['sidecar/base/net/', 'sidecar/transports/http2/hpack/'],
      ...['sidecar/transports/http2/', 'sidecar/contract/', 'sidecar/transports/'],
    ],
  },
  {
    room: 'sidecar/transports/connect/',
    purpose: 'Connect and gRPC-Web, over the HTTP server',
    imports: [
      ...['sidecar/base/', 'sidecar/base/net/', 'sidecar/contract/', 'sidecar/transports/'],
      ...['node:', '@bufbuild/protobuf', 'p-limit'],
    ],
  },
  {
    room: 'sidecar/transports/grpc-js/',
    purpose: 'gRPC on grpc-js',
    imports: [...['sidecar/base/net/', 'sidecar/contract/', 'sidecar/transports/', 'node:', '@grpc/grpc-js']],
  },
  {
    room: 'sidecar/http/',
    purpose: 'what the routes of the HTTP server have in common',
    imports: [
      ...[
        'matrix/document/',
        'sidecar/base/',
        'sidecar/base/http/',
        'sidecar/base/net/',
        'sidecar/usecases/',
      ],
      ...['node:'],
    ],
  },
  {
    room: 'sidecar/http/identity/',
    purpose: 'the identity endpoint, as clients of Keystone ask it',
    imports: [
      ...['sidecar/base/', 'sidecar/base/http/', 'sidecar/base/net/', 'sidecar/authority/'],
      ...['sidecar/usecases/', 'sidecar/http/', 'node:'],
    ],
  },
  {
    room: 'sidecar/http/authzen/',
    purpose: 'AuthZEN',
    imports: [
      ...['engine/', 'sidecar/base/', 'sidecar/base/http/', 'sidecar/base/net/', 'sidecar/authority/'],
      ...['sidecar/usecases/', 'sidecar/proxies/', 'sidecar/http/', 'node:'],
    ],
  },
  {
    room: 'sidecar/http/control-panel/',
    purpose: 'sessions of the page',
    imports: [
      ...[
        'sidecar/base/',
        'sidecar/base/http/',
        'sidecar/base/net/',
        'sidecar/authority/',
        'sidecar/usecases/',
      ],
      ...['sidecar/http/', 'node:'],
    ],
  },
  {
    room: 'sidecar/http/page/',
    purpose: 'the files of the page',
    imports: ['sidecar/base/', 'sidecar/base/http/', 'sidecar/usecases/', 'sidecar/http/', 'node:'],
  },
  {
    room: 'sidecar/http/options.ts',
    purpose: 'the options of the HTTP server, without the server',
    imports: [
      ...['sidecar/base/', 'sidecar/base/net/', 'sidecar/usecases/', 'sidecar/proxies/'],
      ...['sidecar/http/', 'sidecar/http/identity/', 'sidecar/http/authzen/', 'sidecar/http/page/'],
    ],
  },
  {
    room: 'sidecar/http/http-server.ts',
    purpose: 'the HTTP server, with the routes that are on',
    imports: [
      ...[
        'sidecar/base/',
        'sidecar/base/http/',
        'sidecar/base/net/',
        'sidecar/usecases/',
        'sidecar/proxies/',
      ],
      ...['sidecar/http/', 'sidecar/http/identity/', 'sidecar/http/authzen/'],
      ...['sidecar/http/control-panel/', 'sidecar/http/page/', 'sidecar/http/options.ts'],
      ...['node:'],
    ],
  },
  {
    room: 'sidecar/signals/',
    purpose: 'what waits to be sent, and the endpoint of OpenTelemetry',
    imports: ['sidecar/base/', 'sidecar/base/net/', 'sidecar/config/', 'node:', 'undici'],
  },
  {
    room: 'sidecar/signals/log/',
    purpose: 'the log',
    imports: ['sidecar/base/', 'sidecar/config/', 'node:', 'pino'],
  },
  {
    room: 'sidecar/signals/metrics/',
    purpose: 'what is counted',
    imports: [...['sidecar/base/', 'sidecar/authority/', 'sidecar/usecases/', 'sidecar/signals/log/']],
  },
  {
    room: 'sidecar/signals/health/',
    purpose: 'the listener for probes and Prometheus',
    imports: ['sidecar/base/', 'sidecar/base/net/', 'node:', 'prom-client'],
  },
  {
    room: 'sidecar/signals/decision-log/',
    purpose: 'a line for each decision, and what another matrix would have decided',
    imports: [
      ...['engine/', 'matrix/document/', 'sidecar/base/', 'sidecar/config/'],
      ...['sidecar/authority/', 'sidecar/usecases/', 'sidecar/signals/', 'node:', 'pino'],
    ],
  },
  {
    room: 'sidecar/signals/tracing/',
    purpose: 'spans for OpenTelemetry',
    imports: [
      ...['engine/', 'sidecar/base/', 'sidecar/config/', 'sidecar/authority/'],
      ...['sidecar/usecases/', 'sidecar/signals/', 'node:'],
      ...['@opentelemetry/api', '@opentelemetry/resources', '@opentelemetry/sdk-trace', 'pino'],
    ],
  },
  {
    room: 'sidecar/egress/',
    purpose: 'forwards the requests of applications, with the credential of their route',
    imports: [
      ...['engine/', 'sidecar/base/', 'sidecar/base/net/', 'sidecar/usecases/', 'node:'],
      ...['undici'],
    ],
  },
  {
    room: 'sidecar/process/open/',
    purpose: 'opens each part as the configuration says',
    imports: [
      ...['engine/', 'sidecar/base/', 'sidecar/base/net/', 'sidecar/rules/routes/'],
      ...['sidecar/config/', 'sidecar/directory/', 'sidecar/authority/'],
      ...['sidecar/authority/upstream/', 'sidecar/authority/hub/', 'sidecar/rules/'],
      ...['sidecar/rules/matrix-file/', 'sidecar/usecases/'],
      ...['sidecar/contract/', 'sidecar/transports/', 'sidecar/transports/sockets/'],
      ...['sidecar/transports/connect/', 'sidecar/transports/grpc-js/', 'sidecar/http/'],
      ...['sidecar/http/options.ts', 'sidecar/http/http-server.ts', 'sidecar/signals/metrics/'],
      ...['sidecar/signals/health/', 'sidecar/signals/decision-log/', 'sidecar/signals/tracing/'],
      ...['sidecar/proxies/', 'sidecar/egress/', 'node:', 'pino'],
    ],
  },
  {
    room: 'sidecar/process/',
    purpose: 'puts a sidecar together',
    imports: [
      ...['sidecar/base/', 'sidecar/base/net/', 'sidecar/config/', 'sidecar/directory/'],
      ...['sidecar/authority/', 'sidecar/rules/', 'sidecar/usecases/'],
      ...['sidecar/http/options.ts', 'sidecar/signals/log/', 'sidecar/process/open/'],
      ...['node:', 'pino'],
    ],
  },
  {
    room: 'sidecar/process/workers/',
    purpose: 'several processes that serve as one',
    imports: [
      ...['sidecar/base/', 'sidecar/base/net/', 'sidecar/config/', 'sidecar/directory/'],
      ...['sidecar/authority/', 'sidecar/signals/log/', 'sidecar/signals/metrics/'],
      ...['sidecar/signals/health/', 'sidecar/process/open/', 'sidecar/process/', 'node:'],
      ...['pino'],
    ],
  },
  {
    room: 'sidecar/index.ts',
    purpose: 'the sidecar for programs that run it themselves',
    imports: ['sidecar/base/', 'sidecar/config/', 'sidecar/authority/', 'sidecar/process/'],
  },
  {
    room: 'sidecar/cli/terminal/',
    purpose: 'what every command prints and asks',
    imports: ['matrix/', 'clients/typescript/', 'sidecar/base/', 'node:', 'commander'],
  },
  {
    room: 'sidecar/cli/agent/',
    purpose: 'keeps tokens fresh in files',
    imports: ['clients/typescript/', 'sidecar/base/', 'sidecar/config/', 'node:', 'pino'],
  },
  {
    room: 'sidecar/cli/',
    purpose: 'the command line',
    imports: [
      ...['engine/', 'matrix/document/', 'matrix/', 'matrix/import/', 'proto/gen/', 'clients/typescript/'],
      ...['sidecar/base/', 'sidecar/base/net/', 'sidecar/rules/routes/', 'sidecar/config/'],
      ...['sidecar/directory/', 'sidecar/directory/backup/', 'sidecar/authority/'],
      ...['sidecar/authority/hub/', 'sidecar/authority/upstream/', 'sidecar/rules/matrix-file/'],
      ...['sidecar/usecases/', 'sidecar/contract/', 'sidecar/signals/log/', 'sidecar/signals/decision-log/'],
      ...['sidecar/process/open/', 'sidecar/process/', 'sidecar/process/workers/'],
      ...['sidecar/transports/http2/'],
      ...['sidecar/cli/terminal/', 'sidecar/cli/agent/', 'node:', 'commander'],
    ],
  },
  {
    room: 'sidecar/portcullis.js',
    purpose: 'starts the command line',
    imports: ['node:'],
  },
  {
    room: 'console/texts/',
    purpose: 'every text of the page',
    imports: [],
  },
  {
    room: 'console/model/',
    purpose: 'what the views of the page show, as pure functions',
    imports: ['engine/', 'matrix/', 'matrix/import/'],
  },
  {
    room: 'console/ui/',
    purpose: 'the components of the page',
    imports: [
      'engine/',
      'matrix/document/',
      'matrix/',
      'matrix/import/',
      'console/texts/',
      'console/model/',
      'preact',
    ],
  },
  {
    room: 'console/gen/',
    purpose: 'the messages of the contract as the page reads them, generated',
    imports: [],
  },
  {
    room: 'console/panel/model/',
    purpose: 'the state and the calls of the control panel, without a browser',
    imports: [...['engine/', 'matrix/', 'console/texts/', 'console/model/', 'console/gen/']],
  },
  {
    room: 'console/panel/',
    purpose: 'the pages of the control panel, loaded with the first of them',
    imports: [
      ...['console/texts/', 'console/model/', 'console/ui/', 'console/panel/model/'],
      ...['@simplewebauthn/browser', 'preact', 'uqr'],
    ],
  },
  {
    room: 'console/main.tsx',
    purpose: 'starts the page',
    imports: [
      ...['engine/', 'console/texts/', 'console/model/', 'console/ui/', 'console/panel/'],
      ...['preact'],
    ],
  },
]
