/**
 * Builds and runs container images with Debian's buildah and podman. No image is pulled: the bases are made
 * of packages of Debian and of the Node that runs the tests. Everything happens in a separate mount and
 * network namespace, with separate storage, so nothing of it stays on the machine.
 */
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { type RunningProcess, startProcess } from '../processes/processes.ts'
import { eventually, newFolder, whenTheFileEnds } from '../suite/resources.ts'
import { CommandFailed, installed, repository, run } from './command.ts'

/** The user and the group of the image. */
export const IMAGE_USER = 10001

export const IMAGE_FILE = join(repository, 'deploy/container/Containerfile')

/** The names that the bases get here, by what they take the place of. */
export const BASES = { build: 'localhost/build-base', runtime: 'localhost/runtime-base' } as const

const TOOLS = ['buildah', 'podman', 'crun', 'mmdebstrap']

/** Installs the tools, if this machine can. @throws CommandFailed where it cannot */
export async function installContainerTools(): Promise<void> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    throw new CommandFailed('only root can make namespaces and mount images')
  const missing = await Promise.all(
    TOOLS.map((tool) =>
      run('which', [tool]).then(
        () => false,
        () => true,
      ),
    ),
  )
  if (!missing.includes(true)) return
  const options = { env: { DEBIAN_FRONTEND: 'noninteractive' } }
  await run('apt-get', ['update'], options)
  const flags = ['--yes', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=300']
  await run('apt-get', ['install', ...flags, ...TOOLS], options)
}

/** The package of the Python index that runs compose files with podman. */
const COMPOSE = 'podman-compose==1.6.0'

/** @returns the path of the program */
export async function installCompose(): Promise<string> {
  const version = await run('python3', ['--version'])
  const folder = await installed('podman-compose', [version, COMPOSE], async (folder) => {
    await run('python3', ['-m', 'venv', folder])
    await run(join(folder, 'bin', 'python'), ['-m', 'pip', 'install', '--no-input', COMPOSE])
  })
  return join(folder, 'bin', 'podman-compose')
}

/** A root file system of Debian's packages, as `mmdebstrap` unpacks them. @returns a tar file */
export async function rootFilesystem(
  packages: readonly string[],
  architecture: 'amd64' | 'arm64',
): Promise<string> {
  const { VERSION_CODENAME: suite = '' } = Object.fromEntries(
    readFileSync('/etc/os-release', 'utf8')
      .split('\n')
      .map((line) => line.split('=')),
  )
  const flags = ['--variant=extract', `--architectures=${architecture}`, `--include=${packages.join(',')}`]
  const folder = await installed('rootfs', [suite, ...flags], async (folder) => {
    await run('mmdebstrap', ['--quiet', '--mode=root', ...flags, suite, join(folder, 'root.tar')])
  })
  return join(folder, 'root.tar')
}

/** The tools, in separate namespaces. */
export class Containers {
  readonly #holder: RunningProcess
  readonly #env: Readonly<Record<string, string>>

  private constructor(holder: RunningProcess, env: Readonly<Record<string, string>>) {
    this.#holder = holder
    this.#env = env
  }

  static async open(): Promise<Containers> {
    const folder = newFolder()
    const storage = join(folder, 'storage.conf')
    const paths = ['graphroot', 'runroot'].map((each) => `${each} = "${join(folder, each)}"`)
    writeFileSync(storage, ['[storage]', 'driver = "overlay"', ...paths].join('\n'))
    const settings = join(folder, 'containers.conf')
    // Podman's own are more than this process may give without CAP_SYS_RESOURCE.
    const ulimits = '["nofile=16384:16384", "nproc=4096:4096"]'
    writeFileSync(settings, `[containers]\ndefault_ulimits = ${ulimits}\n`)
    // crun refuses a machine that has both versions of cgroups, so that of version 2 is left out here.
    const script =
      'umount /sys/fs/cgroup/unified 2>/dev/null; ip link set lo up; echo open; exec sleep infinity'
    const holder = startProcess(['unshare', '--mount', '--net', 'sh', '-c', script])
    await holder.until(() => holder.stdout().includes('open'))
    const containers = new Containers(holder, {
      CONTAINERS_STORAGE_CONF: storage,
      CONTAINERS_CONF: settings,
    })
    whenTheFileEnds(async () => {
      // This podman refuses containers that others depend on, and removes the others.
      const remove = () => containers.podman('rm', '--all', '--force', '--time', '1', '--volumes')
      for (let left = 10; left > 0 && (await containers.podman('ps', '--all', '--quiet')) !== ''; left--)
        await remove().catch(() => '')
      await containers.podman('image', 'umount', '--all')
      await holder.stop()
    })
    return containers
  }

  /** Runs any program in the network of the containers. */
  inside(command: string, ...args: readonly string[]): Promise<string> {
    const target = ['--target', String(this.#holder.pid), '--mount', '--net']
    return run('nsenter', [...target, command, ...args], { env: this.#env })
  }

  podman(...args: readonly string[]): Promise<string> {
    return this.inside('podman', ...args)
  }

  /**
   * Builds with the network of the machine, from which npm installs.
   *
   * @param args beside those that every build has
   */
  async build(name: string, args: readonly string[], context: string = repository): Promise<void> {
    const cache = (await run('npm', ['config', 'get', 'cache'])).trim()
    mkdirSync(cache, { recursive: true })
    const flags = [
      '--isolation',
      'chroot',
      '--format',
      'docker',
      '--layers',
      '--volume',
      `${cache}:/root/.npm`,
    ]
    const { CONTAINERS_CONF: _, ...env } = this.#env
    const command = ['buildah', 'bud', '--quiet', ...flags, '--tag', name, ...args, context]
    await run('nsenter', ['--target', String(this.#holder.pid), '--mount', ...command], { env })
  }

  /** An image of files: a root file system, and others by their paths in the image. */
  async makeBase(
    name: string,
    tar: string | undefined,
    files: Readonly<Record<string, string>>,
    { lines = [], flags = [] }: { lines?: readonly string[]; flags?: readonly string[] } = {},
  ): Promise<void> {
    const context = newFolder()
    for (const [to, from] of Object.entries(files)) {
      mkdirSync(dirname(join(context, 'files', to)), { recursive: true })
      cpSync(from, join(context, 'files', to), { recursive: true, dereference: true })
    }
    if (tar !== undefined) cpSync(tar, join(context, 'root.tar'))
    const add = tar === undefined ? [] : ['ADD root.tar /']
    writeFileSync(
      join(context, 'Containerfile'),
      ['FROM scratch', ...add, 'COPY files/ /', ...lines, ''].join('\n'),
    )
    await this.build(name, flags, context)
    rmSync(context, { recursive: true })
  }

  /** The bases of the image, for the architecture of this machine. */
  async makeBases(): Promise<void> {
    // The launcher is a link to `bin/npm-cli.js` of the package.
    const npm = dirname(dirname(realpathSync((await run('which', ['npm'])).trim())))
    const certificates = '/etc/ssl/certs/ca-certificates.crt'
    const packages = ['dash', 'coreutils', 'sed', 'libstdc++6']
    await this.makeBase(
      BASES.build,
      await rootFilesystem(packages, 'amd64'),
      {
        'usr/local/bin/node': process.execPath,
        // Stands for that of Node.
        'usr/local/LICENSE': join(repository, 'LICENSE'),
        'usr/local/lib/node_modules/npm': npm,
        ...(existsSync(certificates) && { [certificates.slice(1)]: certificates }),
      },
      {
        lines: [
          `ENV PATH=/usr/local/bin:/usr/bin:/bin NODE_EXTRA_CA_CERTS=${certificates}`,
          'RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm',
        ],
      },
    )
    await this.makeBase(BASES.runtime, await rootFilesystem(RUNTIME_PACKAGES, 'amd64'), {
      'etc/ssl/certs/ca-certificates.crt': certificates,
    })
  }

  /** The path of an image's files, on this machine but only in the namespace. */
  async mount(image: string): Promise<string> {
    return (await this.podman('image', 'mount', image)).trim()
  }

  /** Starts a container as docs/operate/container.md says, and waits until it is ready. @returns its name */
  async start(image: string, args: readonly string[], command: readonly string[] = []): Promise<string> {
    const hardened = ['--read-only', '--read-only-tmpfs=false', '--cap-drop=all']
    const flags = [...hardened, '--security-opt=no-new-privileges', ...args]
    const id = (await this.podman('run', '--detach', ...flags, image, ...command)).trim()
    await eventually(() =>
      this.podman('exec', id, 'portcullis', 'health', '--ready').then(
        () => true,
        () => this.#stillRuns(id),
      ),
    )
    return id
  }

  /** @returns false @throws Error with its log where it has ended */
  async #stillRuns(id: string): Promise<false> {
    const { Running: running } = (await this.inspect(id)).State
    if (!running) throw new Error(`the container ended: ${await this.podman('logs', id)}`)
    return false
  }

  // biome-ignore lint/suspicious/noExplicitAny: as podman has it
  async inspect(id: string): Promise<any> {
    return JSON.parse(await this.podman('inspect', id))[0]
  }
}

/** The files in the base of the image: those of gcr.io/distroless/cc that anything here needs. */
export const RUNTIME_PACKAGES = ['base-files', 'libstdc++6', 'netbase']

/** A folder for sockets that the user of the image owns. */
export function socketFolder(): string {
  const folder = newFolder()
  chownSync(folder, IMAGE_USER, IMAGE_USER)
  chmodSync(folder, 0o750)
  return folder
}
