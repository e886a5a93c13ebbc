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
    room: 'sidecar/transports/http2/',
    purpose: 'HTTP/2 on sockets, whatever it carries',
    imports: ['sidecar/base/', 'node:'],
  },
  {
    room: 'engine/denial.ts',
    purpose: 'what the sender of a denied request is told',
    imports: ['engine/'],
  },
  { room: 'sidecar/rules/routes/', purpose: 'which API a request is for', imports: ['sidecar/base/'] },
  {
    room: 'sidecar/config/',
    purpose: 'the configuration, checked',
    imports: ['matrix/document/', 'sidecar/base/', 'sidecar/rules/routes/', 'node:', 'yaml'],
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
    room: 'sidecar/rules/matrix-file/',
    purpose: 'reads a matrix, a large one in a thread',
    imports: ['engine/', 'matrix/', 'sidecar/base/', 'node:'],
  },
  {
    room: 'sidecar/rules/rules.ts',
    purpose: 'the matrix in force',
    imports: ['engine/', 'matrix/', 'sidecar/base/', 'sidecar/rules/matrix-file/', 'node:'],
  },
  {
    room: 'sidecar/authority/upstream/',
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
      ...[
        'engine/',
        'matrix/',
        'sidecar/base/',
        'sidecar/rules/routes/',
        'sidecar/authority/',
        'sidecar/rules/rules.ts',
      ],
      ...['node:', 'pino'],
    ],
  },
  {
    room: 'sidecar/proxies/',
    purpose: 'what proxies are told about the requests that they ask about',
    imports: [
      ...['engine/', 'sidecar/base/', 'engine/denial.ts', 'sidecar/rules/routes/', 'sidecar/authority/'],
      ...['sidecar/usecases/', 'node:'],
    ],
  },
  {
    room: 'sidecar/contract/',
    purpose: 'the contract over gRPC',
    imports: [
      ...[
        'engine/',
        'matrix/',
        'proto/gen/',
        'sidecar/base/',
        'sidecar/transports/http2/',
        'sidecar/authority/',
      ],
      ...[
        'sidecar/usecases/',
        'sidecar/proxies/',
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
      ...['engine/', 'matrix/document/', 'sidecar/base/', 'sidecar/rules/routes/', 'sidecar/authority/'],
      ...['sidecar/usecases/', 'sidecar/proxies/', 'node:', 'fastify', '@fastify/cors', 'pino'],
    ],
  },
  {
    room: 'sidecar/process/open/profiles-in-force.ts',
    purpose: 'the profiles and upstreams in force',
    imports: [
      ...['engine/', 'sidecar/base/', 'sidecar/config/', 'sidecar/authority/', 'sidecar/authority/upstream/'],
      ...['sidecar/usecases/', 'pino'],
    ],
  },
  {
    room: 'sidecar/signals/otlp-endpoint.ts',
    purpose: 'an endpoint of OpenTelemetry',
    imports: ['sidecar/config/', 'undici'],
  },
  {
    room: 'sidecar/signals/decision-log/',
    purpose: 'a line for each decision, and what another matrix would have decided',
    imports: [
      ...['engine/', 'matrix/document/', 'sidecar/base/', 'sidecar/config/', 'sidecar/authority/'],
      ...['sidecar/signals/otlp-endpoint.ts', 'sidecar/usecases/', 'node:', 'pino'],
    ],
  },
  {
    room: 'sidecar/signals/tracing/',
    purpose: 'spans for OpenTelemetry',
    imports: [
      ...[
        'engine/',
        'sidecar/base/',
        'sidecar/config/',
        'sidecar/authority/',
        'sidecar/signals/otlp-endpoint.ts',
      ],
      ...['sidecar/usecases/', 'sidecar/signals/decision-log/', 'node:', 'pino', '@opentelemetry/api'],
      ...['@opentelemetry/resources', '@opentelemetry/sdk-trace'],
    ],
  },
  {
    room: 'sidecar/egress/',
    purpose: 'forwards the requests of applications, with the credential of their route',
    imports: ['engine/', 'sidecar/base/', 'sidecar/usecases/', 'node:', 'undici'],
  },
  {
    room: 'sidecar/signals/health/',
    purpose: 'the listener for probes and Prometheus',
    imports: ['sidecar/base/', 'node:', 'prom-client'],
  },
  {
    room: 'sidecar/signals/log/pretty-log.ts',
    purpose: 'lines of the log for people',
    imports: ['sidecar/base/', 'node:'],
  },
  {
    room: 'sidecar/signals/log/log.ts',
    purpose: 'the log',
    imports: ['sidecar/base/', 'sidecar/config/', 'sidecar/signals/log/pretty-log.ts', 'node:', 'pino'],
  },
  {
    room: 'sidecar/signals/metrics/process-metrics.ts',
    purpose: 'the metrics of any process of the sidecar',
    imports: ['sidecar/base/', 'sidecar/signals/log/log.ts'],
  },
  {
    room: 'sidecar/signals/metrics/collector.ts',
    purpose: 'the metrics of a sidecar',
    imports: [
      ...['sidecar/base/', 'sidecar/authority/', 'sidecar/rules/rules.ts', 'sidecar/usecases/'],
      'sidecar/signals/metrics/process-metrics.ts',
    ],
  },
  {
    room: 'sidecar/process/open/metrics.ts',
    purpose: 'opens what counts, where metrics are on',
    imports: ['sidecar/config/', 'sidecar/signals/metrics/collector.ts'],
  },
  {
    room: 'sidecar/process/open/health.ts',
    purpose: 'opens the listener for probes, where it is configured',
    imports: [
      'sidecar/base/',
      'sidecar/config/',
      'sidecar/signals/health/',
      'sidecar/signals/metrics/collector.ts',
    ],
  },
  {
    room: 'sidecar/process/open/rules.ts',
    purpose: 'opens the rules, and reports what becomes of their file',
    imports: ['sidecar/base/', 'sidecar/config/', 'sidecar/rules/rules.ts', 'pino'],
  },
  {
    room: 'sidecar/process/open/egress.ts',
    purpose: 'opens egress, where it is configured',
    imports: ['sidecar/base/', 'sidecar/config/', 'sidecar/usecases/', 'sidecar/egress/'],
  },
  {
    room: 'sidecar/process/open/routes.ts',
    purpose: 'opens the routes, where there are any',
    imports: ['engine/', 'sidecar/rules/routes/', 'sidecar/config/', 'sidecar/rules/rules.ts', 'pino'],
  },
  {
    room: 'sidecar/process/open/http-options.ts',
    purpose: 'what the configuration says about HTTP',
    imports: ['sidecar/config/', 'sidecar/http/'],
  },
  {
    room: 'sidecar/process/open/contract.ts',
    purpose: 'opens the contract over HTTP, where it is configured',
    imports: [
      ...['sidecar/base/', 'sidecar/config/', 'sidecar/usecases/', 'sidecar/contract/', 'sidecar/http/'],
    ],
  },
  {
    room: 'sidecar/process/open/certificates.ts',
    purpose: 'opens the certificates of the listeners',
    imports: ['sidecar/base/', 'sidecar/config/', 'pino'],
  },
  {
    room: 'sidecar/process/open/key-facts.ts',
    purpose: 'what operators may know of keys and secrets',
    imports: [
      ...['sidecar/base/', 'sidecar/config/', 'sidecar/authority/', 'sidecar/usecases/'],
      ...['sidecar/process/open/certificates.ts', 'node:'],
    ],
  },
  {
    room: 'sidecar/process/open/authority-events.ts',
    purpose: 'what the embedded authority and its directory tell the log and health checks',
    imports: ['sidecar/base/', 'sidecar/config/', 'sidecar/authority/', 'pino'],
  },
  {
    room: 'sidecar/process/open/authority.ts',
    purpose: 'opens the directory and the authority over it',
    imports: [
      ...[
        'sidecar/base/',
        'sidecar/config/',
        'sidecar/directory/',
        'sidecar/authority/',
        'sidecar/rules/rules.ts',
      ],
      ...['sidecar/process/open/authority-events.ts', 'pino'],
    ],
  },
  {
    room: 'sidecar/process/diagnostics.ts',
    purpose: 'the snapshot that an operator asks for by a signal',
    imports: [
      ...[
        'sidecar/base/',
        'sidecar/config/',
        'sidecar/authority/',
        'sidecar/rules/rules.ts',
        'sidecar/signals/log/log.ts',
      ],
      ...['node:', 'pino'],
    ],
  },
  {
    room: 'sidecar/process/sidecar.ts',
    purpose: 'opens everything that a sidecar is made of',
    imports: [
      ...[
        'sidecar/base/',
        'sidecar/config/',
        'sidecar/directory/',
        'sidecar/authority/',
        'sidecar/rules/rules.ts',
      ],
      ...[
        'sidecar/usecases/',
        'sidecar/process/open/profiles-in-force.ts',
        'sidecar/contract/',
        'sidecar/http/',
        'sidecar/signals/log/log.ts',
      ],
      ...[
        'sidecar/signals/decision-log/',
        'sidecar/signals/tracing/',
        'sidecar/process/open/egress.ts',
        'sidecar/process/open/routes.ts',
      ],
      ...[
        'sidecar/process/open/health.ts',
        'sidecar/process/open/metrics.ts',
        'sidecar/process/open/rules.ts',
      ],
      ...[
        'sidecar/process/open/http-options.ts',
        'sidecar/process/open/contract.ts',
        'sidecar/process/open/certificates.ts',
      ],
      ...[
        'sidecar/process/open/authority-events.ts',
        'sidecar/process/open/authority.ts',
        'sidecar/process/diagnostics.ts',
        'pino',
      ],
      'sidecar/process/open/key-facts.ts',
    ],
  },
  {
    room: 'sidecar/index.ts',
    purpose: 'the sidecar for programs that run it themselves',
    imports: ['sidecar/base/', 'sidecar/config/', 'sidecar/authority/', 'sidecar/process/sidecar.ts'],
  },
  {
    room: 'sidecar/process/workers/',
    purpose: 'several processes that serve as one',
    imports: [
      ...[
        'sidecar/base/',
        'sidecar/config/',
        'sidecar/directory/',
        'sidecar/authority/',
        'sidecar/signals/log/log.ts',
      ],
      ...[
        'sidecar/process/open/profiles-in-force.ts',
        'sidecar/signals/health/',
        'sidecar/process/open/health.ts',
        'sidecar/process/sidecar.ts',
      ],
      ...['sidecar/process/open/metrics.ts', 'sidecar/signals/metrics/process-metrics.ts'],
      ...['node:', 'pino'],
    ],
  },
  {
    room: 'clients/typescript/',
    purpose: 'the client of the contract',
    imports: ['engine/', 'proto/gen/', 'engine/denial.ts', 'node:', '@grpc/grpc-js'],
  },
  {
    room: 'sidecar/cli/agent/',
    purpose: 'keeps tokens fresh in files',
    imports: ['sidecar/base/', 'sidecar/config/', 'clients/typescript/', 'node:', 'pino'],
  },
  {
    room: 'sidecar/cli/',
    purpose: 'the command line',
    imports: [
      ...['engine/', 'matrix/document/', 'matrix/', 'proto/gen/', 'sidecar/base/', 'sidecar/config/'],
      ...[
        'sidecar/rules/routes/',
        'sidecar/directory/',
        'sidecar/authority/',
        'sidecar/authority/upstream/',
        'sidecar/rules/matrix-file/',
        'sidecar/usecases/',
        'sidecar/process/open/certificates.ts',
      ],
      ...[
        'sidecar/contract/',
        'sidecar/signals/log/log.ts',
        'sidecar/process/sidecar.ts',
        'sidecar/process/workers/',
        'clients/typescript/',
      ],
      ...['sidecar/signals/decision-log/', 'sidecar/cli/agent/', 'node:', 'commander'],
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
