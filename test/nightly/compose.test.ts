/**
 * deploy/compose, run by podman-compose with images that are made here: Envoy, a sidecar and PostgreSQL as
 * the page starts them.
 */
import { chmodSync, cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { blocksOf, needOf, pageOf } from '../docs/page.ts'
import { repository, run as runProgram } from '../support/interop/command.ts'
import {
  BASES,
  Containers,
  IMAGE_FILE,
  installCompose,
  installContainerTools,
  RUNTIME_PACKAGES,
  rootFilesystem,
} from '../support/interop/containers.ts'
import { installEnvoy } from '../support/interop/envoy.ts'
import { obtained } from '../support/interop/obtain.ts'
import { eventually, newFile, newFolder } from '../support/suite/resources.ts'

const tools = await obtained('buildah and podman', installContainerTools)
const compose = await obtained('podman-compose', installCompose)
const envoy = await obtained('Envoy', installEnvoy)

/** As the image of PostgreSQL begins, as far as compose.yaml uses it. */
const POSTGRES_ENTRYPOINT = `#!/bin/sh -e
PATH=$(echo /usr/lib/postgresql/*/bin):$PATH
export PATH PGDATA=/var/lib/postgresql/data
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --encoding=UTF8 --locale=C.UTF-8 $POSTGRES_INITDB_ARGS
  echo "CREATE DATABASE $POSTGRES_DB;" | postgres --single postgres
fi
exec "$@"
`

const SERVICES = ['postgres', 'portcullis', 'envoy', 'application'] as const

describe.skipIf(!tools.ok || !compose.ok || !envoy.ok)('deploy/compose', () => {
  const folder = newFolder()
  const place = join(folder, 'deploy/compose')
  let containers: Containers
  let staticToken: string

  beforeAll(async () => {
    for (const each of ['deploy/compose', 'examples/envoy'])
      cpSync(join(repository, each), join(folder, each), { recursive: true })
    containers = await Containers.open()
    await containers.makeBases()
    const bases = [
      '--build-arg',
      `NODE_IMAGE=${BASES.build}`,
      '--build-arg',
      `RUNTIME_IMAGE=${BASES.runtime}`,
    ]
    await containers.build('localhost/portcullis', ['--file', IMAGE_FILE, ...bases])
    await makePostgres(containers)
    await containers.makeBase('localhost/envoy', await rootFilesystem(RUNTIME_PACKAGES, 'amd64'), {
      'usr/local/bin/envoy': envoy.ok ? envoy.value : '',
    })
  })

  const inContainers = (...args: string[]) => {
    const images = ['POSTGRES', 'PORTCULLIS', 'ENVOY'].map(
      (each) => `${each}_IMAGE=localhost/${each.toLowerCase()}`,
    )
    const program = compose.ok ? compose.value : ''
    const flags = ['--in-pod=false', '--file', join(place, 'compose.yaml')]
    return containers.inside('env', ...images, `APPLICATION_IMAGE=${BASES.build}`, program, ...flags, ...args)
  }

  /** Asks as a client of this machine would. */
  async function ask(path: string, headers: Readonly<Record<string, string>> = {}) {
    const program = `fetch('http://127.0.0.1:8080${path}', { headers: ${JSON.stringify(headers)} })
      .then(async (answer) => console.log(JSON.stringify({ status: answer.status, text: await answer.text() })))`
    return JSON.parse(await containers.inside(process.execPath, '-e', program)) as {
      status: number
      text: string
    }
  }

  test('Envoy takes its configuration', async () => {
    const file = join(place, 'envoy.yaml')
    const said = await runProgram(envoy.ok ? envoy.value : '', ['--mode', 'validate', '--config-path', file])
    expect(said).toContain('OK')
  })

  test('the secrets are made as the page says, and everything starts', async () => {
    const [block] = blocksOf(pageOf('docs/operate/container.md')).filter((each) => needOf(each) === 'compose')
    await runProgram('sh', ['-e', '-c', block?.text ?? ''], { cwd: place })
    await inContainers('up', '--detach', 'postgres')
    // This podman has no condition of health to wait for, so this file does the work of Compose.
    await healthy('postgres')
    await inContainers('up', '--detach')
    await healthy('portcullis')
  })

  async function healthy(service: string): Promise<void> {
    const name = `portcullis_${service}_1`
    await eventually(() =>
      containers.podman('healthcheck', 'run', name).then(
        () => true,
        () => false,
      ),
    )
  }

  test('the configuration is valid', async () => {
    const said = await inContainers('exec', '-T', 'portcullis', 'portcullis', 'config', 'validate')
    expect(said).toMatch(/^valid$/m)
  })

  test.each(SERVICES)('%s has no rights that it does not need', async (service) => {
    const { Config: config, HostConfig: host } = await containers.inspect(`portcullis_${service}_1`)
    expect(config.User).toMatch(/^[1-9]/)
    expect(host).toMatchObject({ ReadonlyRootfs: true, Privileged: false })
    expect(host.SecurityOpt.join()).toContain('no-new-privileges')
    const pid = (await containers.inspect(`portcullis_${service}_1`)).State.Pid
    expect(readFileSync(`/proc/${pid}/status`, 'utf8')).toMatch(/^CapBnd:\t0+$/m)
    if (service === 'postgres' || service === 'portcullis') expect(host.NetworkMode).toBe('none')
  })

  test('a request without a credential gets no further than Envoy', async () => {
    const answer = await eventually(async () => {
      const answered = await ask('/billing/').catch(() => undefined)
      return answered?.status === 503 ? undefined : answered
    })
    expect(answer.status).toBe(401)
    expect(JSON.parse(answer.text).error.reason).toBe('CREDENTIAL_MISSING')
  })

  test('an account that is applied gets through, and the application learns whose request it is', async () => {
    const people = newFile(
      'accounts: [{ account: "123456", control_panel_users: [{ name: olga, owner: true, static_tokens: [reporting] }] }]\n',
      'directory.yaml',
    )
    const command = 'portcullis directory apply /dev/stdin --json'
    const applied = await containers.inside(
      'sh',
      '-c',
      `podman exec --interactive portcullis_portcullis_1 ${command} < ${people}`,
    )
    staticToken = /pcst_\w+/.exec(applied)?.[0] ?? ''
    const { status, text } = await ask('/billing/', { 'X-Token': staticToken, 'X-Portcullis-Account': '1' })
    expect(status).toBe(200)
    expect(JSON.parse(text)).toMatchObject({ 'x-portcullis-account': '123456' })
  })

  test('no request passes without the sidecar', async () => {
    await containers.podman('stop', '--time', '60', 'portcullis_portcullis_1')
    expect((await containers.inspect('portcullis_portcullis_1')).State.ExitCode).toBe(0)
    expect((await ask('/billing/', { 'X-Token': staticToken })).status).toBe(503)
  })
})

async function makePostgres(containers: Containers): Promise<void> {
  const entrypoint = newFile(POSTGRES_ENTRYPOINT, 'entrypoint')
  chmodSync(entrypoint, 0o755)
  await containers.makeBase(
    'localhost/postgres',
    await rootFilesystem(['dash', 'coreutils', 'postgresql'], 'amd64'),
    {
      'usr/local/bin/entrypoint': entrypoint,
      'etc/passwd': newFile('postgres:x:999:999::/:/bin/sh\n', 'passwd'),
    },
    {
      lines: [
        'ENV PATH=/usr/local/bin:/usr/bin:/bin',
        'RUN ln -sfn /run /var/run && mkdir -p /var/lib/postgresql/data /run/postgresql \\',
        ' && chown 999:999 /var/lib/postgresql/data /run/postgresql \\',
        ' && ln -s /usr/lib/postgresql/*/bin/pg_isready /usr/lib/postgresql/*/bin/postgres /usr/local/bin/',
        'ENTRYPOINT ["entrypoint"]',
      ],
    },
  )
}
