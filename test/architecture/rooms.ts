/** The rooms of the product as one table: who may import whom (DESIGN §3). */

export interface Room {
  /** Its folder, or its one file. A file is in the innermost folder that is a room. */
  readonly room: string
  readonly purpose: string
  /** Rooms that it imports, and packages; `node:` stands for all that Node brings. Nothing else may be imported. */
  readonly imports: readonly string[]
}

/** From the inside out: a room imports only rooms above it. */
export const ROOMS: readonly Room[] = [
  { room: 'engine/', purpose: 'the rule, pure', imports: [] },
  { room: 'matrix/document/', purpose: 'reads JSON documents strictly', imports: ['jsonc-parser'] },
  { room: 'matrix/', purpose: 'the facts', imports: ['engine/', 'matrix/document/'] },
  {
    room: 'proto/gen/',
    purpose: 'the messages of the contract, generated',
    imports: ['@bufbuild/protobuf', '@grpc/grpc-js'],
  },
  { room: 'sidecar/base/', purpose: 'what every room of the sidecar may use', imports: ['node:'] },
  {
    room: 'sidecar/http2/',
    purpose: 'HTTP/2 on sockets, whatever it carries',
    imports: ['sidecar/base/', 'node:'],
  },
  {
    room: 'engine/denial.ts',
    purpose: 'what the sender of a denied request is told',
    imports: ['engine/'],
  },
  { room: 'sidecar/routes/', purpose: 'which API a request is for', imports: ['sidecar/base/'] },
  {
    room: 'sidecar/config/',
    purpose: 'the configuration, checked',
    imports: ['matrix/document/', 'sidecar/base/', 'sidecar/routes/', 'node:', 'yaml'],
  },
  {
    room: 'sidecar/directory/',
    purpose: 'the records of accounts and people; the only room that knows a database',
    imports: ['sidecar/base/', 'node:', 'lru-cache', 'p-limit', 'pg'],
  },
  {
    room: 'sidecar/authority/',
    purpose: 'passwords, tokens and keys: issues, verifies, revokes',
    imports: [
      ...['engine/', 'sidecar/base/', 'sidecar/directory/', 'node:', 'ipaddr.js', 'lru-cache'],
      ...['@simplewebauthn/server', 'otpauth'],
    ],
  },
  {
    room: 'sidecar/matrix-file/',
    purpose: 'reads a matrix, a large one in a thread',
    imports: ['engine/', 'matrix/', 'sidecar/base/', 'node:'],
  },
  {
    room: 'sidecar/rules.ts',
    purpose: 'the matrix in force',
    imports: ['engine/', 'matrix/', 'sidecar/base/', 'sidecar/matrix-file/', 'node:'],
  },
  {
    room: 'sidecar/upstream/',
    purpose: 'identity endpoints of others, and the tokens that profiles obtain',
    imports: [
      ...['engine/', 'matrix/document/', 'sidecar/base/', 'sidecar/config/', 'sidecar/authority/'],
      ...['node:', 'cockatiel', 'node-cache', 'p-limit', 'undici'],
    ],
  },
  {
    room: 'sidecar/usecases/',
    purpose: 'who may do what, once for every protocol',
    imports: [
      ...['engine/', 'matrix/', 'sidecar/base/', 'sidecar/routes/', 'sidecar/authority/', 'sidecar/rules.ts'],
      ...['node:', 'pino'],
    ],
  },
  {
    room: 'sidecar/http-authorization/',
    purpose: 'what proxies are told about the requests that they ask about',
    imports: [
      ...['engine/', 'sidecar/base/', 'engine/denial.ts', 'sidecar/routes/', 'sidecar/authority/'],
      ...['sidecar/usecases/', 'node:'],
    ],
  },
  {
    room: 'sidecar/grpc/',
    purpose: 'the contract over gRPC',
    imports: [
      ...['engine/', 'matrix/', 'proto/gen/', 'sidecar/base/', 'sidecar/http2/', 'sidecar/authority/'],
      ...[
        'sidecar/usecases/',
        'sidecar/http-authorization/',
        'node:',
        '@bufbuild/protobuf',
        '@grpc/grpc-js',
        '@grpc/reflection',
      ],
    ],
  },
  {
    room: 'sidecar/http/',
    purpose: 'the identity endpoint over HTTP',
    imports: [
      ...['engine/', 'matrix/document/', 'sidecar/base/', 'sidecar/routes/', 'sidecar/authority/'],
      ...['sidecar/usecases/', 'sidecar/http-authorization/', 'node:', 'fastify', '@fastify/cors', 'pino'],
    ],
  },
  {
    room: 'sidecar/credentials.ts',
    purpose: 'the profiles and upstreams in force',
    imports: [
      ...['engine/', 'sidecar/base/', 'sidecar/config/', 'sidecar/authority/', 'sidecar/upstream/'],
      ...['sidecar/usecases/', 'pino'],
    ],
  },
  {
    room: 'sidecar/otlp.ts',
    purpose: 'an endpoint of OpenTelemetry',
    imports: ['sidecar/config/', 'undici'],
  },
  {
    room: 'sidecar/decision-log/',
    purpose: 'a line for each decision, and what another matrix would have decided',
    imports: [
      ...['engine/', 'matrix/document/', 'sidecar/base/', 'sidecar/config/', 'sidecar/authority/'],
      ...['sidecar/otlp.ts', 'sidecar/usecases/', 'node:', 'pino'],
    ],
  },
  {
    room: 'sidecar/tracing/',
    purpose: 'spans for OpenTelemetry',
    imports: [
      ...['engine/', 'sidecar/base/', 'sidecar/config/', 'sidecar/authority/', 'sidecar/otlp.ts'],
      ...['sidecar/usecases/', 'sidecar/decision-log/', 'node:', 'pino', '@opentelemetry/api'],
      ...['@opentelemetry/resources', '@opentelemetry/sdk-trace'],
    ],
  },
  {
    room: 'sidecar/egress/',
    purpose: 'forwards the requests of applications, with the credential of their route',
    imports: ['engine/', 'sidecar/base/', 'sidecar/usecases/', 'node:', 'undici'],
  },
  {
    room: 'sidecar/health/',
    purpose: 'the listener for probes and Prometheus',
    imports: ['sidecar/base/', 'node:', 'prom-client'],
  },
  {
    room: 'sidecar/pretty-log.ts',
    purpose: 'lines of the log for people',
    imports: ['sidecar/base/', 'node:'],
  },
  {
    room: 'sidecar/log.ts',
    purpose: 'the log',
    imports: ['sidecar/base/', 'sidecar/config/', 'sidecar/pretty-log.ts', 'node:', 'pino'],
  },
  {
    room: 'sidecar/process-metrics.ts',
    purpose: 'the metrics of any process of the sidecar',
    imports: ['sidecar/base/', 'sidecar/log.ts'],
  },
  {
    room: 'sidecar/collector.ts',
    purpose: 'the metrics of a sidecar',
    imports: [
      ...['sidecar/base/', 'sidecar/authority/', 'sidecar/rules.ts', 'sidecar/usecases/'],
      'sidecar/process-metrics.ts',
    ],
  },
  {
    room: 'sidecar/open-metrics.ts',
    purpose: 'opens what counts, where metrics are on',
    imports: ['sidecar/config/', 'sidecar/collector.ts'],
  },
  {
    room: 'sidecar/open-health.ts',
    purpose: 'opens the listener for probes, where it is configured',
    imports: ['sidecar/base/', 'sidecar/config/', 'sidecar/health/', 'sidecar/collector.ts'],
  },
  {
    room: 'sidecar/open-rules.ts',
    purpose: 'opens the rules, and reports what becomes of their file',
    imports: ['sidecar/base/', 'sidecar/config/', 'sidecar/rules.ts', 'pino'],
  },
  {
    room: 'sidecar/open-egress.ts',
    purpose: 'opens egress, where it is configured',
    imports: ['sidecar/base/', 'sidecar/config/', 'sidecar/usecases/', 'sidecar/egress/'],
  },
  {
    room: 'sidecar/open-routes.ts',
    purpose: 'opens the routes, where there are any',
    imports: ['engine/', 'sidecar/routes/', 'sidecar/config/', 'sidecar/rules.ts', 'pino'],
  },
  {
    room: 'sidecar/http-options.ts',
    purpose: 'what the configuration says about HTTP',
    imports: ['sidecar/config/', 'sidecar/http/'],
  },
  {
    room: 'sidecar/open-contract.ts',
    purpose: 'opens the contract over HTTP, where it is configured',
    imports: [...['sidecar/base/', 'sidecar/config/', 'sidecar/usecases/', 'sidecar/grpc/', 'sidecar/http/']],
  },
  {
    room: 'sidecar/open-certificates.ts',
    purpose: 'opens the certificates of the listeners',
    imports: ['sidecar/base/', 'sidecar/config/', 'pino'],
  },
  {
    room: 'sidecar/key-facts.ts',
    purpose: 'what operators may know of keys and secrets',
    imports: [
      ...['sidecar/base/', 'sidecar/config/', 'sidecar/authority/', 'sidecar/usecases/'],
      ...['sidecar/open-certificates.ts', 'node:'],
    ],
  },
  {
    room: 'sidecar/authority-events.ts',
    purpose: 'what the embedded authority and its directory tell the log and health checks',
    imports: ['sidecar/base/', 'sidecar/config/', 'sidecar/authority/', 'pino'],
  },
  {
    room: 'sidecar/open-authority.ts',
    purpose: 'opens the directory and the authority over it',
    imports: [
      ...['sidecar/base/', 'sidecar/config/', 'sidecar/directory/', 'sidecar/authority/', 'sidecar/rules.ts'],
      ...['sidecar/authority-events.ts', 'pino'],
    ],
  },
  {
    room: 'sidecar/diagnostics.ts',
    purpose: 'the snapshot that an operator asks for by a signal',
    imports: [
      ...['sidecar/base/', 'sidecar/config/', 'sidecar/authority/', 'sidecar/rules.ts', 'sidecar/log.ts'],
      ...['node:', 'pino'],
    ],
  },
  {
    room: 'sidecar/sidecar.ts',
    purpose: 'opens everything that a sidecar is made of',
    imports: [
      ...['sidecar/base/', 'sidecar/config/', 'sidecar/directory/', 'sidecar/authority/', 'sidecar/rules.ts'],
      ...['sidecar/usecases/', 'sidecar/credentials.ts', 'sidecar/grpc/', 'sidecar/http/', 'sidecar/log.ts'],
      ...['sidecar/decision-log/', 'sidecar/tracing/', 'sidecar/open-egress.ts', 'sidecar/open-routes.ts'],
      ...['sidecar/open-health.ts', 'sidecar/open-metrics.ts', 'sidecar/open-rules.ts'],
      ...['sidecar/http-options.ts', 'sidecar/open-contract.ts', 'sidecar/open-certificates.ts'],
      ...['sidecar/authority-events.ts', 'sidecar/open-authority.ts', 'sidecar/diagnostics.ts', 'pino'],
      'sidecar/key-facts.ts',
    ],
  },
  {
    room: 'sidecar/index.ts',
    purpose: 'the sidecar for programs that run it themselves',
    imports: ['sidecar/base/', 'sidecar/config/', 'sidecar/authority/', 'sidecar/sidecar.ts'],
  },
  {
    room: 'sidecar/workers/',
    purpose: 'several processes that serve as one',
    imports: [
      ...['sidecar/base/', 'sidecar/config/', 'sidecar/directory/', 'sidecar/authority/', 'sidecar/log.ts'],
      ...['sidecar/credentials.ts', 'sidecar/health/', 'sidecar/open-health.ts', 'sidecar/sidecar.ts'],
      ...['sidecar/open-metrics.ts', 'sidecar/process-metrics.ts'],
      ...['node:', 'pino'],
    ],
  },
  {
    room: 'clients/typescript/',
    purpose: 'the client of the contract',
    imports: ['engine/', 'proto/gen/', 'engine/denial.ts', 'node:', '@grpc/grpc-js'],
  },
  {
    room: 'sidecar/agent/',
    purpose: 'keeps tokens fresh in files',
    imports: ['sidecar/base/', 'sidecar/config/', 'clients/typescript/', 'node:', 'pino'],
  },
  {
    room: 'sidecar/cli/',
    purpose: 'the command line',
    imports: [
      ...['engine/', 'matrix/document/', 'matrix/', 'proto/gen/', 'sidecar/base/', 'sidecar/config/'],
      ...[
        'sidecar/routes/',
        'sidecar/directory/',
        'sidecar/authority/',
        'sidecar/upstream/',
        'sidecar/matrix-file/',
        'sidecar/usecases/',
        'sidecar/open-certificates.ts',
      ],
      ...['sidecar/grpc/', 'sidecar/log.ts', 'sidecar/sidecar.ts', 'sidecar/workers/', 'clients/typescript/'],
      ...['sidecar/decision-log/', 'sidecar/agent/', 'node:', 'commander'],
    ],
  },
  { room: 'sidecar/portcullis.js', purpose: 'starts the command line', imports: ['node:'] },
  { room: 'console/texts/', purpose: 'every text of the page', imports: [] },
  {
    room: 'console/model/',
    purpose: 'what the views of the page show, as pure functions',
    imports: ['engine/', 'matrix/'],
  },
  {
    room: 'console/ui/',
    purpose: 'the components of the page',
    imports: ['engine/', 'matrix/', 'console/texts/', 'console/model/', 'preact'],
  },
  {
    room: 'console/gen/',
    purpose: 'the messages of the contract as the page reads them, generated',
    imports: ['@bufbuild/protobuf'],
  },
  {
    room: 'console/panel/model/',
    purpose: 'the state and the calls of the control panel, without a browser',
    imports: [
      ...['engine/', 'console/texts/', 'console/model/', 'console/gen/', '@bufbuild/protobuf'],
      ...['@connectrpc/connect', '@connectrpc/connect-web'],
    ],
  },
  {
    room: 'console/panel/',
    purpose: 'the pages of the control panel, loaded with the first of them',
    imports: [
      ...['console/texts/', 'console/model/', 'console/ui/', 'console/panel/model/', 'preact'],
      ...['@simplewebauthn/browser', 'uqr'],
    ],
  },
  {
    room: 'console/main.tsx',
    purpose: 'starts the page',
    imports: ['engine/', 'console/texts/', 'console/model/', 'console/ui/', 'console/panel/', 'preact'],
  },
]
