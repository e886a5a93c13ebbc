/** Files with secrets: refused where others can change them, and a warning where others can read them. */
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { exposureOfFolder } from '../../sidecar/base/data-folder.ts'
import { exposure } from '../../sidecar/base/exposure.ts'
import { type Config, readConfig } from '../../sidecar/config/config.ts'
import { exposedFiles } from '../../sidecar/config/secret-files.ts'
import { startProcess } from '../support/processes/processes.ts'
import { CERTIFICATE } from '../support/proxies/self-signed.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { CAN_MOUNT, withReadOnly } from '../support/suite/read-only.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

const US = 1000
const OTHER = 1001
const READ_BY_ALL = 'every user of this machine can read it'
const READ_BY_GROUP = 'its group can read it'
const CHANGED_BY_ALL = 'every user of this machine can change it'
const ANOTHER = 'belongs to another user (uid 1001), who can change it; expected uid 1000 or root'

test.each<[what: string, owner: number, mode: number, refused: boolean | undefined, problem?: string]>([
  ['a file of its own', US, 0o100600, undefined],
  ['a file that even its owner cannot change', US, 0o100400, undefined],
  ['a file that its group can read', US, 0o100640, false, READ_BY_GROUP],
  ['a file that its group can change', US, 0o100660, false, 'its group can change it'],
  ['a file that all can read', US, 0o100644, false, READ_BY_ALL],
  ['a file that all can change', US, 0o100666, true, CHANGED_BY_ALL],
  ['a secret of Kubernetes with fsGroup', 0, 0o100640, undefined],
  ['a secret of Kubernetes by default', 0, 0o100644, false, READ_BY_ALL],
  ['a file of root that all can change', 0, 0o100602, true, CHANGED_BY_ALL],
  ['a file of another user', OTHER, 0o100600, true, ANOTHER],
  ['a folder of its own', US, 0o040700, undefined],
  ['a folder that all can enter', US, 0o040711, false, READ_BY_ALL],
  ['a volume of Kubernetes with fsGroup', 0, 0o042770, undefined],
])('%s', (_what, uid, mode, refused, problem) => {
  const found = exposure({ uid, mode }, US, {})
  expect(found?.refused).toBe(refused)
  expect(found?.problem.startsWith(problem ?? '')).toBe(found === undefined ? undefined : true)
})

test('a process of root warns of files of a user, which a container has from outside', () => {
  expect(exposure({ uid: OTHER, mode: 0o100600 }, 0, {})).toMatchObject({ refused: false })
})

const TOKEN = 'x'.repeat(32)

/** A configuration whose secrets have these modes. */
function configuration(modes: { config?: number; password?: number; token?: number }): {
  config: string
  password: string
  token: string
} {
  const folder = newFolder()
  const [config, password, token] = [join(folder, 'c.yaml'), join(folder, 'p'), join(folder, 't')]
  writeFileSync(password, 'secret')
  writeFileSync(token, TOKEN)
  const profile = { account: 'a', user_name: 'u', password_file: password }
  writeFileSync(
    config,
    JSON.stringify({ profiles: { job: profile }, callers: [{ name: 'c', token_file: token }] }),
  )
  chmodSync(config, modes.config ?? 0o600)
  chmodSync(password, modes.password ?? 0o600)
  chmodSync(token, modes.token ?? 0o600)
  return { config, password, token }
}

const warnings = (lines: readonly string[]) =>
  lines
    .map((line) => JSON.parse(line) as { file?: string; problem?: string })
    .filter(({ problem }) => problem !== undefined)
    .map(({ file, problem }) => `${file}: ${problem}`)

describe('a sidecar', () => {
  test('says nothing of files that no other user can reach', async () => {
    const { logLines } = await runSidecar({ config: configuration({ config: 0o644 }).config })
    expect(warnings(logLines)).toEqual([])
  })

  test('warns of secrets that others can read, and serves', async () => {
    const { config, password, token } = configuration({ password: 0o644, token: 0o644 })
    const { logLines } = await runSidecar({ config })
    expect(warnings(logLines)).toEqual([
      `${password}: every user of this machine can read it (mode 0644); expected mode 0600`,
      `${token}: every user of this machine can read it (mode 0644); expected mode 0600`,
    ])
  })

  test('lets the group read a caller token, which the caller needs too', async () => {
    const { logLines } = await runSidecar({ config: configuration({ token: 0o640 }).config })
    expect(warnings(logLines)).toEqual([])
  })

  test.each<['config' | 'password' | 'token', key: string]>([
    ['config', 'configuration'],
    ['password', 'profiles.job.password_file'],
    ['token', 'callers[0].token_file'],
  ])('refuses to start where all can change the %s', async (which, key) => {
    const files = configuration({ [which]: 0o666 })
    await expect(runSidecar({ config: files.config })).rejects.toThrow(
      `${key}: ${files[which]}: ${CHANGED_BY_ALL} (mode 0666); expected mode 0600`,
    )
  })

  test('refuses to start where all can change the secret of an application credential', async () => {
    const secret = newFile('secret')
    chmodSync(secret, 0o666)
    const job = {
      ...{ upstream: 'cloud', account: 'a', projects: ['web'], application_credential_id: 'i' },
      application_credential_secret_file: secret,
    }
    const upstreams = { cloud: { auth_url: 'http://127.0.0.1:1' } }
    const config = newFile(JSON.stringify({ upstreams, profiles: { job } }))
    await expect(runSidecar({ config })).rejects.toThrow(
      `profiles.job.application_credential_secret_file: ${secret}: ${CHANGED_BY_ALL} (mode 0666); expected mode 0600`,
    )
  })

  describe.each([
    ['all can write', 0o777, 'can replace it: its folder FOLDER has mode 0777; expected mode 0755'],
    ['all can write, and no user can replace the files of others', 0o1777, undefined],
    ['its group can write', 0o775, undefined],
  ])('where a folder is one in which %s,', (_what, mode, problem) => {
    const FILES = ['config', 'password', 'token'] as const
    const HOW = ['in it', 'in a folder of it', 'by a link in it', 'by a link to it']

    test.each([...FILES.flatMap((which) => HOW.map((how) => [which, how] as const))])(
      'the %s %s',
      async (which, how) => {
        const [open, closed] = [newFolder(), newFolder()]
        const inner = join(open, 'inner')
        mkdirSync(inner, { mode: 0o700 })
        const names = { config: 'c.yaml', password: 'p', token: 't' }
        const folder = how === 'in a folder of it' ? inner : how === 'by a link in it' ? closed : open
        const path = join(folder, names[which])
        const link = join(how === 'by a link in it' ? open : closed, 'link')
        const files = { ...configuration({}) }
        renameSync(files[which], path)
        if (how.startsWith('by')) symlinkSync(path, link)
        files[which] = how.startsWith('by') ? link : path
        const profile = { account: 'a', user_name: 'u', password_file: files.password }
        const callers = [{ name: 'c', token_file: files.token }]
        writeFileSync(files.config, JSON.stringify({ profiles: { job: profile }, callers }))
        chmodSync(open, mode)
        const started = runSidecar({ config: files.config })
        if (problem === undefined) expect(warnings((await started).logLines)).toEqual([])
        else await expect(started).rejects.toThrow(problem.replace('FOLDER', open))
      },
    )
  })

  test('refuses to start where all can replace a file with authorities', async () => {
    const folder = newFolder()
    const ca = join(folder, 'ca.pem')
    writeFileSync(ca, CERTIFICATE)
    chmodSync(ca, 0o644)
    const config = newFile(JSON.stringify({ upstreams: { cloud: { auth_url: 'https://a.example', ca } } }))
    await (await runSidecar({ config })).sidecar.close()
    chmodSync(folder, 0o777)
    await expect(runSidecar({ config })).rejects.toThrow(
      `upstreams.cloud.ca: ${ca}: every user of this machine`,
    )
  })

  test('looks at the file that a link leads to, as Kubernetes mounts secrets', async () => {
    const target = newFile('secret')
    chmodSync(target, 0o644)
    const { config, password } = configuration({})
    const link = `${password}-link`
    symlinkSync(target, link)
    const profiles = { job: { account: 'a', user_name: 'u', password_file: link } }
    writeFileSync(config, JSON.stringify({ profiles }))
    const { logLines } = await runSidecar({ config })
    expect(warnings(logLines)).toEqual([`${link}: ${READ_BY_ALL} (mode 0644); expected mode 0600`])
  })
})

test.skipIf(process.geteuid?.() !== 0 || !CAN_MOUNT)(
  'a file in a folder that all could write is used where that is read-only, as a ConfigMap is mounted',
  async () => {
    const module = new URL('../../sidecar/base/exposure.ts', import.meta.url).href
    const program = `process.stdout.write(JSON.stringify((await import('${module}')).exposureOf(process.argv[1]) ?? 'used'))`
    const folder = newFolder()
    const file = join(folder, 'f')
    writeFileSync(file, 'x', { mode: 0o600 })
    chmodSync(folder, 0o777)
    const line = [process.execPath, '--input-type=module', '--eval', program, file]
    expect(JSON.parse((await startProcess(withReadOnly(folder, line)).ended).stdout)).toBe('used')
    expect(JSON.parse((await startProcess(line).ended).stdout)).toMatchObject({ refused: true })
  },
)

describe('the data folder', () => {
  const SECRETS = ['signing-keys.json', 'static-token-pepper', 'administrator-token', 'directory.sqlite']

  test.each(SECRETS)('is refused where all can change %s', async (name) => {
    const { sidecar, folder } = await runSidecar()
    await sidecar.close()
    chmodSync(join(folder, name), 0o666)
    await expect(runSidecar({ folder })).rejects.toThrow(`${join(folder, name)}: ${CHANGED_BY_ALL}`)
  })

  test('is closed to others at the start, so that it does not matter who may read its files', async () => {
    const { sidecar, folder } = await runSidecar()
    await sidecar.close()
    chmodSync(folder, 0o755)
    for (const name of SECRETS) chmodSync(join(folder, name), 0o644)
    expect(warnings((await runSidecar({ folder })).logLines)).toEqual([])
  })

  test.each([0o777, 0o1777, 0o3777])(
    'is refused with mode %o, unless it is mounted so for reading',
    (mode) => {
      const folder = newFolder()
      chmodSync(folder, mode)
      expect(exposureOfFolder(folder)).toMatchObject({ shared: true, exposure: { refused: true } })
    },
  )

  test.skipIf(process.geteuid?.() !== 0 || !CAN_MOUNT)(
    'of root is accepted with the mode of a mounted Secret, where it is read-only, and not without the sticky bit',
    async () => {
      const module = new URL('../../sidecar/base/data-folder.ts', import.meta.url).href
      const program = `process.stdout.write(JSON.stringify((await import('${module}')).exposureOfFolder(process.argv[1])))`
      const exposed = async (mode: number) => {
        const folder = newFolder()
        chmodSync(folder, mode)
        const line = [process.execPath, '--input-type=module', '--eval', program, folder]
        return JSON.parse((await startProcess(withReadOnly(folder, line)).ended).stdout)
      }
      expect(await exposed(0o3777)).toEqual({ shared: true })
      expect(await exposed(0o777)).toMatchObject({ shared: true, exposure: { refused: true } })
    },
  )

  test.skipIf(process.geteuid?.() !== 0)('of another user is warned of, where root runs', async () => {
    const { sidecar, folder } = await runSidecar()
    await sidecar.close()
    chownSync(folder, 12345, 12345)
    const { logLines } = await runSidecar({ folder })
    expect(warnings(logLines)).toEqual([expect.stringContaining('belongs to another user (uid 12345)')])
  })
})

interface Schema {
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly $defs?: Readonly<Record<string, Schema>>
}

const SCHEMA = JSON.parse(
  readFileSync(new URL('../../sidecar/config/config.schema.json', import.meta.url), 'utf8'),
) as Schema

/** Keys of files with a secret, or with those whose certificates count: `[]` in an array, `*` in a map. */
function secretKeys(schema: Schema, path: readonly string[] = []): (readonly string[])[] {
  const name = path.at(-1) ?? ''
  if (schema.$ref === '#/$defs/path') return /(_file|^key|^ca|^client_ca)$/.test(name) ? [path] : []
  const found = SCHEMA.$defs?.[schema.$ref?.split('/').at(-1) ?? ''] ?? schema
  const { properties = {}, additionalProperties: values, items } = found
  return [
    ...Object.entries(properties).flatMap(([key, each]) => secretKeys(each, [...path, key])),
    ...(typeof values === 'object' ? secretKeys(values, [...path, '*']) : []),
    ...(items === undefined ? [] : secretKeys(items, [...path, '[]'])),
  ]
}

/** An object with this value there, and nothing else. */
function holding([key = '', ...rest]: readonly string[], value: string, beside: unknown): unknown {
  const inner = (there: unknown) => (rest.length === 0 ? value : holding(rest, value, there))
  if (key === '[]') return [inner(undefined)]
  return { ...(beside as object), [key]: inner((beside as Record<string, unknown>)?.[key]) }
}

const KEYS = secretKeys(SCHEMA)

test('the configuration names files with secrets in many places', () => {
  expect(KEYS.length).toBeGreaterThan(15)
})

test.each(KEYS.map((path) => [path.join('.'), path] as const))('%s is a file with a secret', (_key, path) => {
  const file = newFile('secret')
  chmodSync(file, 0o666)
  const config = holding(path, file, readConfig({ flags: {} })) as Config
  expect(exposedFiles(config).map((each) => each.path)).toContain(file)
})
