/**
 * The parts of manifests that must fit together beyond the types of Kubernetes: ports, paths, labels, names,
 * and the configuration.
 */
import { basename, dirname } from 'node:path'

/** An object, and what is wrong with it by its type and by the restricted Pod Security Standard. */
export interface Manifest {
  readonly object: KubernetesObject
  readonly problems: readonly string[]
}

type Labels = Readonly<Record<string, string>>

/** The members that are looked at here. */
export interface KubernetesObject {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels?: Labels; readonly annotations?: Labels }
  // Each kind has another one.
  // biome-ignore lint/suspicious/noExplicitAny: the Go program has checked it against the types of Kubernetes
  readonly spec?: any
  readonly data?: Readonly<Record<string, string>>
}

export interface Container {
  readonly name: string
  readonly args?: readonly string[]
  readonly env?: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: object }[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly volumeMounts?: readonly Mount[]
  readonly startupProbe?: Probe
  readonly livenessProbe?: Probe
  readonly readinessProbe?: Probe
  readonly lifecycle?: { readonly preStop?: { readonly sleep?: { readonly seconds: number } } }
  readonly resources?: { readonly requests?: object; readonly limits?: object }
  readonly securityContext?: { readonly runAsUser?: number; readonly runAsGroup?: number }
}

interface Mount {
  readonly name: string
  readonly mountPath: string
  readonly readOnly?: boolean
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string | number }
}

export interface Volume {
  readonly name: string
  readonly configMap?: { readonly name: string; readonly defaultMode?: number }
  readonly secret?: { readonly secretName: string; readonly defaultMode?: number }
  readonly emptyDir?: object
}

export interface PodSpec {
  readonly containers: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly volumes: readonly Volume[]
  readonly securityContext: {
    readonly fsGroup: number
    readonly runAsUser?: number
    readonly runAsGroup?: number
  }
  readonly serviceAccountName?: string
  readonly automountServiceAccountToken?: boolean
  readonly terminationGracePeriodSeconds?: number
  readonly topologySpreadConstraints?: readonly { readonly labelSelector: Selector }[]
}

interface Selector {
  readonly matchLabels?: Labels
}

interface Configuration {
  readonly grpc: { readonly address: string; readonly tls?: Readonly<Record<string, string>> }
  readonly health: { readonly address: string }
  readonly http?: { readonly address?: string }
  readonly data: string
  readonly directory?: { readonly known_folder?: string; readonly hub?: object }
  readonly drain_ms?: number
}

const WORKLOADS = ['Deployment', 'StatefulSet', 'DaemonSet', 'Job']

/** As the schema of the configuration says. */
const DRAIN_MS = 10_000

/**
 * The workload with the sidecar: its pod, the container, and its configuration.
 *
 * @throws Error where there is none
 */
export function sidecarOf(objects: readonly KubernetesObject[]) {
  for (const { kind, spec } of objects) {
    if (!WORKLOADS.includes(kind)) continue
    const pod = spec.template.spec as PodSpec
    const labels = (spec.template.metadata?.labels ?? {}) as Labels
    const container = containersOf(pod).find(({ args }) => args?.[0] === 'serve')
    if (container === undefined) continue
    const file = container.args?.[2] ?? ''
    const text = configurationAt(objects, pod, container, file)
    return { pod, labels, container, text, config: JSON.parse(text) as Configuration }
  }
  throw new Error('expected a workload with a container that serves')
}

export function containersOf({ initContainers = [], containers }: PodSpec): Container[] {
  return [...initContainers, ...containers]
}

function configurationAt(
  objects: readonly KubernetesObject[],
  { volumes }: PodSpec,
  { volumeMounts = [] }: Container,
  file: string,
): string {
  const mount = volumeMounts.find(({ mountPath }) => mountPath === dirname(file))
  const name = volumes.find((each) => each.name === mount?.name)?.configMap?.name
  const map = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name)
  const text = map?.data?.[basename(file)]
  if (text === undefined) throw new Error(`no ConfigMap brings ${file}`)
  return text
}

/** The parts that do not fit together. */
export function problemsOf(objects: readonly KubernetesObject[]): string[] {
  const { pod, labels, container, config } = sidecarOf(objects)
  return [
    ...volumeProblems(pod),
    ...probeProblems(container, config),
    ...pathProblems(pod, container, config),
    ...portProblems(container, config),
    ...variableProblems(container, config),
    ...neighbourProblems(pod, container, config),
    ...selectorProblems(objects, pod, labels, container),
    ...podProblems(objects, pod, container, config),
  ]
}

function* volumeProblems(pod: PodSpec): Iterable<string> {
  const names = pod.volumes.map(({ name }) => name)
  const mounted = containersOf(pod).flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name))
  for (const name of mounted) if (!names.includes(name)) yield `no volume ${name}`
  for (const name of names) if (!mounted.includes(name)) yield `no container mounts ${name}`
}

function* probeProblems(container: Container, { health }: Configuration): Iterable<string> {
  const port = health.address.split(':').at(-1)
  if (!/^(0\.0\.0\.0|\[::\]):/.test(health.address)) yield 'a kubelet cannot reach the health listener'
  const probes = { startupProbe: '/readyz', livenessProbe: '/healthz', readinessProbe: '/readyz' } as const
  for (const [name, path] of Object.entries(probes)) {
    const found = container[name as keyof typeof probes]?.httpGet
    if (found?.path !== path) yield `${name}: expected ${path}`
    const named = container.ports?.find((each) => each.name === found?.port)?.containerPort
    if (String(named ?? found?.port) !== port) yield `${name}: expected port ${port}`
  }
}

function* pathProblems(
  { volumes }: PodSpec,
  { volumeMounts = [] }: Container,
  { grpc, data, directory }: Configuration,
): Iterable<string> {
  const known = directory?.known_folder
  const under = (path: string) =>
    volumeMounts.find(({ mountPath }) => path === mountPath || dirname(path) === mountPath)
  const volumeOf = (path: string) => volumes.find(({ name }) => name === under(path)?.name)
  // A claim, or an emptyDir where nothing is kept, has room for what the sidecar knows.
  const ownsData = volumeOf(data)?.secret === undefined && under(data)?.readOnly !== true
  const files = Object.values(grpc.tls ?? {}).filter((value) => typeof value === 'string')
  for (const path of [...(ownsData && known === undefined ? [] : [data]), ...files]) {
    const volume = volumeOf(path)
    if (volume?.secret === undefined) yield `${path}: expected a mounted Secret`
    else if (volume.secret.defaultMode !== 0o440) yield `${path}: expected mode 0440`
  }
  const kept = known === undefined ? undefined : volumeOf(known)
  if (kept?.emptyDir === undefined && !ownsData) yield 'directory.known_folder: expected a mounted emptyDir'
  const [, socket] = /^unix:(.*)$/.exec(grpc.address) ?? []
  if (socket === undefined) return
  const mount = under(socket)
  if (mount === undefined || mount.readOnly) yield `${socket}: expected a folder that can be written`
}

function* portProblems({ ports = [] }: Container, { grpc, http, health }: Configuration): Iterable<string> {
  const listening = [grpc.address, http?.address ?? 'off', health.address]
  const expected = listening.flatMap((address) => /^[^1].*:(\d+)$/.exec(address)?.[1] ?? [])
  const found = ports.map(({ containerPort }) => String(containerPort))
  if (found.toSorted().join() !== expected.toSorted().join())
    yield `ports: expected ${expected}, found ${found}`
}

/** The image has a variable for the health listener, which is in force where the pod has none. */
function* variableProblems({ env }: Container, { health, directory }: Configuration): Iterable<string> {
  const of = (name: string) => env?.find((each) => each.name === name)
  const address = of('PORTCULLIS_HEALTH_ADDRESS')?.value ?? '0.0.0.0:8181'
  if (address !== health.address) yield `PORTCULLIS_HEALTH_ADDRESS: expected ${health.address}`
  if (of('PORTCULLIS_DIRECTORY_URL') !== undefined && directory?.hub !== undefined)
    yield 'a follower has the URL of a database'
}

/** Other containers of the pod reach the socket, and nothing else. */
function* neighbourProblems(pod: PodSpec, sidecar: Container, { grpc }: Configuration): Iterable<string> {
  const own = sidecar.volumeMounts ?? []
  for (const { name, env = [], volumeMounts = [] } of containersOf(pod)) {
    if (name === sidecar.name) continue
    for (const mount of volumeMounts)
      if (own.some((each) => each.name === mount.name)) {
        if (!grpc.address.startsWith(`unix:${mount.mountPath}/`)) yield `${name}: mounts ${mount.name}`
        if (!mount.readOnly) yield `${name}: could replace what is in ${mount.name}`
      }
    const asks = env.find((each) => each.name === 'PORTCULLIS_GRPC_ADDRESS')?.value
    if (asks !== undefined && asks !== grpc.address) yield `${name}: asks at ${asks}`
  }
}

const matches = ({ matchLabels = {} }: Selector, labels: Labels) =>
  Object.keys(matchLabels).length > 0 &&
  Object.entries(matchLabels).every(([name, value]) => labels[name] === value)

function* selectorProblems(
  objects: readonly KubernetesObject[],
  { topologySpreadConstraints = [] }: PodSpec,
  labels: Labels,
  { ports = [] }: Container,
): Iterable<string> {
  const isPort = (port: string | number) =>
    ports.some(({ name, containerPort }) => name === port || containerPort === port)
  for (const { labelSelector } of topologySpreadConstraints)
    if (!matches(labelSelector, labels)) yield 'a spread constraint counts other pods'
  for (const { kind, metadata, spec } of objects) {
    // A hook is for another pod.
    if (metadata.annotations?.['helm.sh/hook'] !== undefined) continue
    const selector =
      kind === 'Service' ? { matchLabels: spec.selector } : (spec?.podSelector ?? spec?.selector)
    if (selector !== undefined && !matches(selector, labels))
      yield `${kind} ${metadata.name}: selects other pods`
    if (kind === 'Service')
      for (const { targetPort } of spec.ports) if (!isPort(targetPort)) yield `Service: no port ${targetPort}`
    if (kind !== 'NetworkPolicy') continue
    for (const { from = [], ports: open } of spec.ingress) {
      for (const { port } of open) if (!isPort(port)) yield `NetworkPolicy: no port ${port}`
      for (const { podSelector } of from)
        if (podSelector?.matchLabels?.['app.kubernetes.io/name'] !== undefined)
          yield 'NetworkPolicy: only the sidecars themselves may call'
    }
  }
}

function* podProblems(
  objects: readonly KubernetesObject[],
  pod: PodSpec,
  { lifecycle, resources }: Container,
  { drain_ms: drainMs = DRAIN_MS }: Configuration,
): Iterable<string> {
  if (pod.automountServiceAccountToken !== false) yield 'a token of the cluster is mounted'
  const account = pod.serviceAccountName
  if (
    account !== undefined &&
    !objects.some(({ kind, metadata }) => kind === 'ServiceAccount' && metadata.name === account)
  )
    yield `no ServiceAccount ${account}`
  const pause = lifecycle?.preStop?.sleep?.seconds ?? 0
  if ((pod.terminationGracePeriodSeconds ?? 30) * 1000 <= pause * 1000 + drainMs)
    yield 'killed before calls have ended'
  if (resources?.requests === undefined || resources.limits === undefined) yield 'no resources'
}
