/**
 * The manifests of deploy/kubernetes, and those that Helm makes of the chart of deploy/helm, decoded as a
 * cluster would. The containers of the former run as a kubelet would run them.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { parse } from 'yaml'
import type { ClientOptions } from '../../clients/typescript/index.ts'
import { blocksOf, fileOf, pageOf } from '../docs/page.ts'
import { makeAuthority, makeCertificate } from '../support/interop/certificates.ts'
import { interopFolder, repository } from '../support/interop/command.ts'
import { installKubernetesTools, validated } from '../support/interop/kubernetes.ts'
import {
  containersOf,
  type Manifest,
  type PodSpec,
  problemsOf,
  sidecarOf,
} from '../support/interop/manifests.ts'
import { emptyDir, startContainer, type VolumeContents, whyNoPods } from '../support/interop/pod.ts'
import { PostgresServer } from '../support/postgres/server.ts'
import { type RunningProcess, run } from '../support/processes/processes.ts'
import { connect } from '../support/sidecar/client.ts'
import { ACCOUNT, PEOPLE } from '../support/sidecar/sidecar.ts'
import { eventually, newFile, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const tools = await installKubernetesTools()
const postgres = inject('postgres')
const whyNot = postgres.ok && inject('openssl').ok ? whyNoPods() : 'PostgreSQL or openssl is missing'
if (whyNot !== undefined) process.stderr.write(`interop: no container of a manifest is run: ${whyNot}\n`)

const SHAPES = ['standalone', 'application']
const read = new Map<string, Manifest[]>()
const objectsOf = (shape: string) => (read.get(shape) ?? []).map(({ object }) => object)

beforeAll(async () => {
  if (!tools.ok) return
  for (const shape of SHAPES)
    read.set(shape, await tools.value.manifestsOf({ folder: join(repository, 'deploy/kubernetes', shape) }))
})

describe.skipIf(!tools.ok)('the manifests', () => {
  test.each(SHAPES)('%s: every field exists, and every pod is restricted', (shape) => {
    expect((read.get(shape) ?? []).flatMap(({ problems }) => problems)).toEqual([])
    expect(objectsOf(shape).map(({ kind }) => kind)).toContain('ConfigMap')
  })

  test.each(SHAPES)('%s: ports, paths, labels and names fit the configuration', (shape) => {
    expect(problemsOf(objectsOf(shape))).toEqual([])
  })

  test.each(SHAPES)('%s: the configuration is valid', async (shape) => {
    expect(await validated(sidecarOf(objectsOf(shape)).text)).toBe('valid\n')
  })

  test('a wrong field, a type and a privilege are found', async () => {
    if (!tools.ok) return
    const text = readFileSync(join(repository, 'deploy/kubernetes/standalone/deployment.yaml'), 'utf8')
    for (const [from, to, problem] of [
      ['replicas: 2', 'replica: 2', 'unknown field "spec.replica"'],
      ['replicas: 2', 'replicas: two', 'cannot unmarshal'],
      ['runAsNonRoot: true', 'runAsNonRoot: false', 'runAsNonRoot'],
      ['drop: [ALL]', 'drop: [CHOWN]', 'unrestricted capabilities'],
      ['maxSkew: 1', 'maxSkew: 1\n          maxSkew: 2', 'already set'],
    ] as const) {
      const [found] = await tools.value.manifestsOf({ text: text.replace(from, to) })
      expect(found?.problems.join()).toContain(problem)
    }
  })

  test.each<[what: string, from: RegExp, to: string, problem: string]>([
    ['another port of health', /0\.0\.0\.0:8181/, '0.0.0.0:8182', 'startupProbe: expected port 8182'],
    ['health on loopback', /0\.0\.0\.0:8181/, '127.0.0.1:8181', 'a kubelet cannot reach the health listener'],
    [
      'another folder of the data',
      /\/var\/lib\/portcullis\\"/,
      '/data\\"',
      '/data: expected a mounted Secret',
    ],
    ['another path of a probe', /"path":"\/healthz"/, '"path":"/readyz"', 'livenessProbe: expected /healthz'],
    [
      'another label of the pods',
      /"template":\{"metadata":\{"labels":\{"/,
      '"template":{"metadata":{"labels":{"x',
      'Service portcullis: selects other pods',
    ],
    ['a Service for another port', /"targetPort":"grpc"/, '"targetPort":"http"', 'Service: no port http'],
    [
      'calls that take longer',
      /\\"http\\"/,
      '\\"drain_ms\\": 60000, \\"http\\"',
      'killed before calls have ended',
    ],
    ['a readable Secret', /"defaultMode":288/, '"defaultMode":420', 'expected mode 0440'],
  ])('%s is found', (_what, from, to, problem) => {
    const text = JSON.stringify(objectsOf('standalone'))
    expect(text).toMatch(from)
    expect(problemsOf(JSON.parse(text.replace(from, to))).join()).toContain(problem)
  })

  test('the component adds the sidecar to labelled workloads, before what they have, and to no other', async () => {
    if (!tools.ok) return
    const folder = newFolder()
    cpSync(join(repository, 'deploy/kubernetes/sidecar'), join(folder, 'sidecar'), { recursive: true })
    const workload = (kind: string, name: string, labels: object) => ({
      apiVersion: 'apps/v1',
      kind,
      metadata: { name, labels },
      spec: { template: { spec: { initContainers: [{ name: 'migrate' }], containers: [{ name: 'web' }] } } },
    })
    const labels = { 'portcullis-sidecar': 'true' }
    const workloads = [workload('Deployment', 'a', labels), workload('StatefulSet', 'b', labels)]
    for (const each of [...workloads, workload('Deployment', 'c', {})])
      writeFileSync(join(folder, `${each.metadata.name}.yaml`), JSON.stringify(each))
    writeFileSync(
      join(folder, 'kustomization.yaml'),
      'resources: [a.yaml, b.yaml, c.yaml]\ncomponents: [sidecar]\n',
    )
    const built = (await tools.value.manifestsOf({ folder })).filter(
      ({ object }) => object.spec !== undefined,
    )
    const names = built.map(({ object: { metadata, spec } }) => [
      metadata.name,
      ...containersOf(spec.template.spec).map(({ name }) => name),
    ])
    expect(names.toSorted()).toEqual([
      ['a', 'portcullis', 'migrate', 'web'],
      ['b', 'portcullis', 'migrate', 'web'],
      ['c', 'migrate', 'web'],
    ])
  })

  test('the probes of docs/operate/health.md are those of the manifests', () => {
    const block = blocksOf(pageOf('docs/operate/health.md')).find((each) => fileOf(each) === 'probes.yaml')
    const [shown] = (parse(block?.text ?? '') as { containers: Record<string, unknown>[] }).containers
    const { container } = sidecarOf(objectsOf('standalone'))
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'] as const)
      expect(container[probe]).toEqual(shown?.[probe])
  })
})

describe.skipIf(!tools.ok || whyNot !== undefined)('their containers run', () => {
  let url = ''
  let newDatabase: () => Promise<string>
  let keys = { 'signing-keys.json': '', 'static-token-pepper': '' }
  let data = ''
  beforeAll(async () => {
    if (!postgres.ok || whyNot !== undefined) return
    const server = await PostgresServer.start(postgres.folder)
    whenTheFileEnds(() => server.remove())
    newDatabase = () => server.newDatabase()
    url = await newDatabase()
    data = newFolder()
    const directory = newFile(JSON.stringify(PEOPLE), 'directory.yaml')
    const applied = await run(['directory', 'apply', directory, '--data', data], {
      environment: { PORTCULLIS_DIRECTORY_URL: url },
    })
    expect(applied).toMatchObject({ code: 0 })
    const text = (name: string) => readFileSync(join(data, name), 'utf8')
    keys = {
      'signing-keys.json': text('signing-keys.json'),
      'static-token-pepper': text('static-token-pepper'),
    }
  })

  const variables = (config: { health: { address: string } }) => ({
    PORTCULLIS_DIRECTORY_URL: url,
    // A test opens no port to other machines.
    PORTCULLIS_HEALTH_ADDRESS: config.health.address.replace(/^0\.0\.0\.0:.*/, '127.0.0.1:0'),
  })

  test('standalone: only clients with the certificate of a caller get an answer', async () => {
    const { pod, container, config, text } = sidecarOf(objectsOf('standalone'))
    const folder = newFolder()
    const authority = await makeAuthority(folder, 'authority')
    const server = await makeCertificate(folder, 'server', authority)
    const file = (path: string) => readFileSync(path, 'utf8')
    const tls = {
      'tls.crt': file(server.certificate),
      'tls.key': file(server.key),
      'ca.crt': file(authority.certificate),
    }
    const known = emptyDir(pod)
    const contents: VolumeContents = {
      files: { config: { 'config.json': text }, tls, data: keys },
      folders: { known },
    }
    const sidecar = startContainer(
      pod,
      { ...container, args: [...(container.args ?? []), '--json'] },
      contents,
      {
        ...variables(config),
        PORTCULLIS_GRPC_ADDRESS: '127.0.0.1:0',
      },
    )
    const ready = JSON.parse(await sidecar.until(() => /^.*\n/.exec(sidecar.stdout())?.[0]))
    const ask = async (name: string) => {
      const own = await makeCertificate(folder, name, authority, [`DNS:${name}.example`])
      const options: ClientOptions = {
        tls: {
          ca: readFileSync(authority.certificate),
          certificate: readFileSync(own.certificate),
          key: readFileSync(own.key),
        },
      }
      const client = connect(ready.grpc, options)
      const token = { kind: 'static_token', scope: { account: ACCOUNT } }
      return client.check({ api: 'balance', token }).finally(() => client.close())
    }
    expect(await ask('application')).toMatchObject({ allowed: true })
    // The files that a restart of the container finds.
    await eventually(() => readdirSync(known).length > 0)
    // Nothing to warn of: neither the mode of a mounted Secret, nor the read-only file systems.
    expect(warningsOf(sidecar)).toEqual([])
    await expect(ask('another')).rejects.toMatchObject({ reason: 'CLIENT_CERTIFICATE_UNKNOWN' })
    expect((await fetch(`http://${ready.health}/readyz`)).status).toBe(200)
    expect(await sidecar.stop()).toMatchObject({ code: 0 })
  })

  test('the hook of the chart upgrades a directory, and writes nowhere else', async () => {
    if (!tools.ok) return
    const { helm, manifestsOf } = tools.value
    const values = newFile(JSON.stringify({ callers: CALLERS, migration: { enabled: true } }), 'values.json')
    const text = await helm('template', 'release', CHART, '--values', values)
    const objects = (await manifestsOf({ text })).map(({ object }) => object)
    const pod: PodSpec = objects.find(({ kind }) => kind === 'Job')?.spec.template.spec
    const map = pod.volumes[0]?.configMap?.name
    const config =
      objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === map)?.data ?? {}
    const [container] = pod.containers
    if (container === undefined) throw new Error('expected a container')
    const environment = { PORTCULLIS_DIRECTORY_URL: await newDatabase() }
    const migrated = startContainer(pod, container, { files: { config }, folders: {} }, environment)
    const { code, stdout, stderr } = await migrated.ended
    expect({ code, stdout, stderr }).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^version 0 was upgraded/),
    })
  })

  test('sidecar: the application asks over the socket, and can neither read the data nor replace the socket', async () => {
    const { pod, container, config, text } = sidecarOf(objectsOf('application'))
    const { stdout: published } = await run(['keys', 'public', '--data', data])
    const socket = emptyDir(pod)
    const contents: VolumeContents = {
      files: {
        'portcullis-config': { 'config.json': text },
        'portcullis-data': { ...keys, 'signing-keys.json': published },
      },
      folders: { 'portcullis-socket': socket, 'portcullis-known': emptyDir(pod) },
    }
    const sidecar = startContainer(pod, container, contents, variables(config))
    await sidecar.until(() => sidecar.stdout().includes('ready: gRPC on unix:/run/portcullis/grpc.sock'))
    const [application] = pod.containers
    if (application === undefined) throw new Error('expected an application')
    const { code, stdout, stderr } = await startContainer(pod, application, contents, {}).ended
    expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: expect.stringContaining('allowed') })
    const mounted = containersOf(pod).filter(({ volumeMounts = [] }) =>
      volumeMounts.some(({ name }) => name === 'portcullis-data'),
    )
    expect(mounted.map(({ name }) => name)).toEqual(['portcullis'])
    expect(warningsOf(sidecar)).toEqual([])
    expect(await sidecar.stop()).toMatchObject({ code: 0 })
  })
})

/** The lines that a sidecar has logged as a warning or an error. */
function warningsOf(sidecar: RunningProcess): unknown[] {
  const lines = sidecar
    .stderr()
    .split('\n')
    .filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line)).filter(({ level }) => level > 30)
}

const CHART = join(repository, 'deploy/helm/portcullis')

const CALLERS = [{ name: 'application', certificate: { dns: 'application.example' } }]

const EVERYTHING = {
  callers: [...CALLERS, { name: 'b', certificate: { uri: 'spiffe://example/b' }, rights: ['read'] }],
  image: {
    repository: 'registry.example/portcullis',
    digest: `sha256:${'a'.repeat(64)}`,
    pullPolicy: 'Always',
  },
  imagePullSecrets: [{ name: 'registry' }],
  replicas: 3,
  secrets: { data: 'd', directory: 'e', tls: 'f' },
  configuration: {
    strict: true,
    drain_ms: 60_000,
    grpc: { address: '[::]:6051', max_batch_length: 10, tls: { any_client: false } },
    http: { address: '[::]:6180', connect: true },
    health: { address: '[::]:6181' },
    directory: { pool_size: 4 },
  },
  volumes: [{ name: 'profiles', secret: { secretName: 'profiles', defaultMode: 288 } }],
  volumeMounts: [{ name: 'profiles', mountPath: '/profiles', readOnly: true }],
  env: [{ name: 'HTTPS_PROXY', value: 'http://proxy.example:3128' }],
  migration: { enabled: true },
  resources: { requests: { cpu: 1 }, limits: { memory: '1Gi' } },
  networkPolicy: {
    ...{ clients: { 'may-call': 'yes' }, monitoring: 'prometheus', databasePort: 6432 },
    egress: [{ ports: [{ port: 443 }] }],
    ingress: [{ from: [{ podSelector: {} }], ports: [{ port: 'http' }] }],
  },
  podDisruptionBudget: { maxUnavailable: '50%' },
  podAnnotations: { 'example/a': 'b' },
  podLabels: { 'example/c': 'd' },
  priorityClassName: 'first',
  nodeSelector: { disk: 'fast' },
  tolerations: [{ key: 'a', operator: 'Exists' }],
  affinity: { nodeAffinity: {} },
}

const IN_A_FILE = {
  callers: CALLERS,
  replicas: 1,
  secrets: { data: '', directory: '' },
  dataVolume: { persistentVolumeClaim: { claimName: 'portcullis' } },
}

const HUB = {
  addresses: ['portcullis.portcullis.svc:50051'],
  tls: { ca: '/hub/ca.crt', certificate: '/hub/tls.crt', key: '/hub/tls.key' },
}
const OF_HUB = {
  volumes: [{ name: 'hub', secret: { secretName: 'hub', defaultMode: 288 } }],
  volumeMounts: [{ name: 'hub', mountPath: '/hub', readOnly: true }],
}
const FOLLOWER = {
  ...OF_HUB,
  callers: CALLERS,
  secrets: { data: '' },
  configuration: { directory: { hub: HUB } },
  networkPolicy: { egress: [{ ports: [{ port: 50051 }] }] },
}

describe.skipIf(!tools.ok)('the chart', () => {
  if (!tools.ok) return
  const { helm, manifestsOf } = tools.value
  const valuesOf = (values: object) => ['--values', newFile(JSON.stringify(values), 'values.json')]
  const render = async (chart: string, values: object) => {
    const text = await helm('template', 'release', chart, '--namespace', 'somewhere', ...valuesOf(values))
    return manifestsOf({ text })
  }

  test.each<[what: string, values: object, kinds: number]>([
    ['its own values', {}, 6],
    ['every value', EVERYTHING, 7],
    ['a directory in a file', IN_A_FILE, 6],
    ['no directory', FOLLOWER, 6],
    ['no network policy', { callers: CALLERS, networkPolicy: { enabled: false } }, 5],
  ])('with %s: it passes the linter, and its manifests fit together', async (_what, values, kinds) => {
    await helm('lint', '--strict', CHART, ...valuesOf(values))
    const rendered = await render(CHART, values)
    expect(rendered.flatMap(({ problems }) => problems)).toEqual([])
    const objects = rendered.map(({ object }) => object)
    expect(new Set(objects.map(({ kind }) => kind)).size).toBe(kinds)
    expect(problemsOf(objects)).toEqual([])
    expect(await validated(sidecarOf(objects).text)).toBe('valid\n')
  })

  test('the values reach the manifests', async () => {
    const objects = (await render(CHART, EVERYTHING)).map(({ object }) => object)
    const { pod, container, config } = sidecarOf(objects)
    expect(container).toMatchObject({
      image: `registry.example/portcullis@sha256:${'a'.repeat(64)}`,
      imagePullPolicy: 'Always',
      resources: { limits: { memory: '1Gi' } },
    })
    expect(pod).toMatchObject({
      ...{ nodeSelector: { disk: 'fast' }, priorityClassName: 'first', terminationGracePeriodSeconds: 80 },
    })
    expect(config).toMatchObject({
      strict: true,
      grpc: { max_batch_length: 10 },
      callers: EVERYTHING.callers,
    })
    expect(objects.find(({ kind }) => kind === 'Deployment')).toMatchObject({
      spec: { replicas: 3, template: { metadata: { labels: { 'example/c': 'd' } } } },
    })
    expect(container).toMatchObject({ env: expect.arrayContaining(EVERYTHING.env) })
    expect(container.volumeMounts).toEqual(expect.arrayContaining(EVERYTHING.volumeMounts))
    const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy')
    expect(policies).toHaveLength(2)
    for (const { spec } of policies)
      expect(spec.egress.flatMap(({ ports }: { ports: { port: number }[] }) => ports)).toMatchObject([
        ...[{ port: 53 }, { port: 53 }, { port: 6432 }, { port: 443 }],
      ])
    const ports = (kind: string) => objects.find((each) => each.kind === kind)?.spec.ports
    expect(ports('Service')).toMatchObject([{ port: 6051 }, { port: 6180 }])
  })

  test('a job upgrades the directory before the pods are replaced, with its own configuration', async () => {
    const objects = (await render(CHART, EVERYTHING)).map(({ object }) => object)
    const hooks = objects.filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] !== undefined)
    expect(hooks.map(({ kind }) => kind).toSorted()).toEqual(['ConfigMap', 'Job', 'NetworkPolicy'])
    const weight = (kind: string) =>
      Number(hooks.find((each) => each.kind === kind)?.metadata.annotations?.['helm.sh/hook-weight'] ?? 0)
    expect(weight('ConfigMap')).toBeLessThan(weight('Job'))
    const job = hooks.find(({ kind }) => kind === 'Job')
    const pod: PodSpec = job?.spec.template.spec
    expect(pod.volumes).toMatchObject([
      { configMap: { name: 'release-portcullis-migration' } },
      ...EVERYTHING.volumes,
    ])
    expect(pod.containers).toMatchObject([
      {
        args: ['migrate', '--config', '/etc/portcullis/config.json'],
        volumeMounts: [{}, ...EVERYTHING.volumeMounts],
      },
    ])
    // It is an endpoint of no Service.
    const selector = objects.find(({ kind }) => kind === 'Service')?.spec.selector
    expect(job?.spec.template.metadata.labels).not.toMatchObject(selector)
  })

  test('another configuration makes other pods', async () => {
    const annotation = async (configuration: object) => {
      const objects = await render(CHART, { callers: CALLERS, configuration })
      return objects.find(({ object }) => object.kind === 'Deployment')?.object.spec.template.metadata
        .annotations
    }
    expect(await annotation({})).not.toEqual(await annotation({ strict: true }))
  })

  test.each<[what: string, values: object, words: RegExp]>([
    ['no callers', { callers: [] }, /callers.*(minItems|at least 1|minimum)/is],
    ['a caller without a certificate', { callers: [{ name: 'a' }] }, /callers.*certificate/is],
    ['an unknown value', { callers: CALLERS, replica: 2 }, /replica/],
    ['no replicas', { callers: CALLERS, replicas: 0 }, /replicas.*minimum/is],
    ['a number as text', { callers: CALLERS, replicas: 'two' }, /replicas.*integer/is],
    ['a tag as a number', { callers: CALLERS, image: { tag: 1 } }, /image.tag.*string/is],
    ['an invalid digest', { callers: CALLERS, image: { digest: 'abc' } }, /digest.*pattern/is],
    [
      'a label of the chart',
      { callers: CALLERS, podLabels: { 'app.kubernetes.io/name': 'a' } },
      /invalid propertyName .app\.kubernetes\.io/,
    ],
    [
      'the URL of the database',
      { callers: CALLERS, configuration: { directory: { url: 'x' } } },
      /'\/configuration\/directory\/url': value must be '\(it is in the Secret/,
    ],
    [
      'an address that no client reaches',
      { callers: CALLERS, configuration: { grpc: { address: '127.0.0.1:50051' } } },
      /'\/configuration\/grpc\/address': .*does not match/,
    ],
    ['an unknown key', { callers: CALLERS, configuration: { strickt: true } }, /strickt/],
    [
      'a number beyond its bound',
      { callers: CALLERS, configuration: { drain_ms: 600_001 } },
      /drain_ms.*maximum/is,
    ],
    ['an invalid URL', { callers: CALLERS, configuration: { http: { public_url: 'x' } } }, /public_url/],
    ['two pods with a file', { ...IN_A_FILE, replicas: 2 }, /replicas.*maximum/is],
    [
      'the data folder',
      { callers: CALLERS, configuration: { data: '/data' } },
      /'\/configuration\/data': value must be '\(the chart sets it\)'/,
    ],
  ])('refuses %s', async (_what, values, words) => {
    await expect(render(CHART, values)).rejects.toThrow(words)
  })

  test('the chart of an application takes the sidecar', async () => {
    const chart = newFolder()
    cpSync(CHART, join(chart, 'charts/portcullis'), { recursive: true })
    mkdirSync(join(chart, 'templates'))
    writeFileSync(join(chart, 'Chart.yaml'), 'apiVersion: v2\nname: application\nversion: 1.0.0\n')
    cpSync(join(interopFolder, 'kubernetes/application.yaml'), join(chart, 'templates/application.yaml'))
    for (const sidecar of [
      {},
      {
        ...{
          ...OF_HUB,
          data: '',
          configuration: { directory: { hub: HUB }, health: { address: '[::]:6181' } },
        },
        env: [{ name: 'HTTPS_PROXY', value: 'http://proxy.example:3128' }],
      },
    ])
      await expectSidecar(await render(chart, { portcullis: { standalone: false, sidecar } }))
  })

  async function expectSidecar(rendered: readonly Manifest[]) {
    expect(rendered.flatMap(({ problems }) => problems)).toEqual([])
    const objects = rendered.map(({ object }) => object)
    expect(objects.map(({ kind }) => kind).toSorted()).toEqual(['ConfigMap', 'Deployment'])
    expect(problemsOf(objects)).toEqual([])
    const { container, text } = sidecarOf(objects)
    expect(container).toMatchObject({ restartPolicy: 'Always' })
    expect(await validated(text)).toBe('valid\n')
  }

  test('takes the values that the pages show', async () => {
    const pages = ['docs/operate/kubernetes.md', 'docs/operate/failover.md'].map(pageOf)
    const blocks = pages.flatMap(blocksOf).filter((each) => /values\.yaml$/.test(fileOf(each) ?? ''))
    expect(blocks).toHaveLength(3)
    for (const { text } of blocks) {
      const rendered = await render(CHART, { callers: CALLERS, ...parse(text) })
      expect(rendered.flatMap(({ problems }) => problems)).toEqual([])
      expect(problemsOf(rendered.map(({ object }) => object))).toEqual([])
    }
  })

  test('its notes say what must be there', async () => {
    const values = valuesOf({ callers: CALLERS })
    const notes = await helm('install', 'release', CHART, '--dry-run=client', ...values)
    expect(notes).toContain('release-portcullis.default.svc:50051')
    expect(notes).toContain('application  {"dns":"application.example"}')
  })
})
