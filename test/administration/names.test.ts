/** Invisible characters: refused in new names, and shown as escapes where an earlier version let them in. */
import { join } from 'node:path'
import { ScalarType } from '@bufbuild/protobuf'
import { beforeEach, describe, expect, test } from 'vitest'
import type { DirectoryClient } from '../../clients/typescript/index.ts'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import { readConfig } from '../../sidecar/config/config.ts'
import { openSqlite } from '../../sidecar/directory/sqlite.ts'
import { DirectoryStore } from '../../sidecar/directory/store.ts'
import { OPERATIONS } from '../../sidecar/usecases/administration/administer.ts'
import { messageOf } from '../support/contract/contract-json.ts'
import { NO_NAMES } from '../support/inputs/names.ts'
import { command, FakeTerminal } from '../support/processes/command-line.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { operatorOf } from '../support/sidecar/operator.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'

const running = await runSidecar()
const client = operatorOf(running)
const { directory } = client
/** A new account for each test. */
let account = ''
let accounts = 0
beforeEach(async () => {
  account = `account-${++accounts}`
  await directory.createAccount({ account })
})

/** The texts in the requests of every change of an account. */
const TEXTS = (Object.keys(OPERATIONS) as (keyof typeof OPERATIONS & keyof DirectoryClient)[])
  .filter((operation) => !OPERATIONS[operation].reads)
  .map((operation) => ({ operation, request: `${operation[0]?.toUpperCase()}${operation.slice(1)}Request` }))
  .map(({ operation, request }) => ({ operation, fields: messageOf(request).fields }))
  .filter(({ fields }) => fields.some(({ name }) => name === 'account'))
  .flatMap(({ operation, fields }) =>
    fields
      .filter(({ scalar }) => scalar === ScalarType.STRING)
      .map((field) => ({ operation, field, name: field.name })),
  )

describe('a name that hides something, or looks like another one,', () => {
  const apply = (part: object) =>
    applyFile(running.sidecar.administration, TESTER, { accounts: [{ account, ...part }] })

  test.each(TEXTS)('is refused as $name of $operation', async ({ operation, field }) => {
    const olga = { account, userName: 'olga', name: 'olga' }
    await directory.createControlPanelUser(olga)
    await directory.createStaticToken(olga)
    await directory.createProject(olga)
    await directory.createServiceUser({ account, name: 'job' })
    const request = {
      ...{ account: operation === 'createAccount' ? 'new' : account, userName: 'olga' },
      name: operation.startsWith('create') ? 'new' : operation.includes('ServiceUser') ? 'job' : 'olga',
    }
    for (const [what, text] of NO_NAMES) {
      const value = field.fieldKind === 'list' ? [text] : text
      const asking = client.directory[operation]({ ...request, [field.localName]: value } as never)
      // Everything else exists.
      const refused = ({ code, message }: { code: string; message: string }) =>
        (code === 'INVALID_ARGUMENT' && message.startsWith(field.name)) || code === 'NOT_FOUND'
      await expect(asking, what).rejects.toSatisfy(refused)
    }
  })

  test.each<[what: string, create: (name: string) => Promise<unknown>]>([
    ['a project of a directory file', (name) => apply({ projects: [name] })],
    ['a user of a directory file', (name) => apply({ control_panel_users: [{ name }] })],
    [
      'a static token of a directory file',
      (name) => apply({ control_panel_users: [{ name: 'another', static_tokens: [name] }] }),
    ],
  ])('is refused for %s', async (_what, create) => {
    for (const [what, name] of NO_NAMES)
      await expect(create(name), what).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })

  test.each<[key: string, config: (name: string) => object]>([
    ['callers[0].name', (name) => ({ callers: [{ name, token_sha256: 'a'.repeat(64) }] })],
    ['http.catalog[0].name', (name) => ({ http: { catalog: [{ type: 'x', name, url: 'http://x' }] } })],
    ['http.region', (name) => ({ http: { region: name } })],
    [
      'routes[0].target.account.fixed',
      (name) => ({ routes: [{ path: '/a', api: 'iam', target: { account: { fixed: name } } }] }),
    ],
    [
      'profiles.job.projects[0]',
      (name) => ({
        profiles: { job: { account: 'a', user_name: 'b', password_file: 'p', projects: [name] } },
      }),
    ],
    [
      'profiles.job.user_name',
      (name) => ({ profiles: { job: { account: 'a', user_name: name, password_file: 'p' } } }),
    ],
  ])('is refused for %s of the configuration', (key, config) => {
    for (const [what, name] of NO_NAMES) {
      const file = newFile(JSON.stringify(config(name)), 'portcullis.yaml')
      const expected = `${file}: ${key}: expected a `
      expect(() => readConfig({ file }), what).toThrow(
        /: expected a (?:text|name) without control characters/,
      )
      expect(() => readConfig({ file }), what).toThrow(expected)
    }
  })

  test('is refused for a new caller', async () => {
    for (const [what, name] of NO_NAMES) {
      const { code, stderr } = await command(['caller', 'new', name])
      expect({ code, stderr }, what).toEqual({
        code: 2,
        stderr: expect.stringContaining('<name>: expected a name without control characters'),
      })
    }
  })
})

/** As an earlier version could write it. */
async function oldProject(name: string): Promise<void> {
  const store = new DirectoryStore(openSqlite(join(running.folder, 'directory.sqlite')), Date.now)
  try {
    const record = await store.records.account(account)
    if (record === undefined) throw new Error('the account is missing')
    await store.change('an earlier version', (change) => change.createProject(record, name))
  } finally {
    await store.close()
  }
}

test('a record of an earlier version with such a name is found, listed, disabled and deleted', async () => {
  const name = 'alpha\u202e\u009b2J\u200b'
  await oldProject(name)
  expect((await directory.getProject({ account, name })).project).toMatchObject({ name })
  const { projects } = await directory.listProjects({ account })
  expect(projects.map((project) => project.name)).toEqual([name])
  await directory.updateProject({ account, name, enabled: false })
  await directory.deleteProject({ account, name })
  expect((await directory.listProjects({ account })).projects).toEqual([])
})

describe('on a terminal', () => {
  const name = 'alpha\u202e\u009b2J\u200b\u{e0041}'
  const escapes = 'alpha\\u{202e}\\u{9b}2J\\u{200b}\\u{e0041}'
  const data = () => ['--data', running.folder, '--address', running.address]

  test('a name is shown with escapes, in tables, records and errors', async () => {
    await oldProject(name)
    expect((await command(['project', 'list', account, ...data()])).stdout).toContain(` ${escapes} `)
    expect((await command(['project', 'show', account, name, ...data()])).stdout).toContain(escapes)
    expect((await command(['directory', 'show', '--data', running.folder])).stdout).toContain(escapes)
    const { stderr } = await command(['project', 'show', account, `no ${name}`, ...data()])
    expect(stderr).toContain(`project \`no ${escapes}\``)
  })

  test('a question has escapes too', async () => {
    await oldProject(name)
    const terminal = new FakeTerminal('yes')
    await command(['project', 'delete', account, name, ...data()], terminal)
    expect(terminal.questions).toEqual([expect.stringContaining(escapes)])
    expect((await directory.listProjects({ account })).projects).toEqual([])
  })

  test('JSON is ASCII where a character is invisible, and has the same value', async () => {
    await oldProject(name)
    const { stdout } = await command(['project', 'list', account, '--json', ...data()])
    expect(stdout).toContain('"alpha\\u202e\\u009b2J\\u200b\\udb40\\udc41"')
    expect(JSON.parse(stdout).projects[0].name).toBe(name)
    const failed = await command(['project', 'show', account, `no ${name}`, '--json', ...data()])
    expect(failed.stderr).toContain('no alpha\\u202e')
    expect(JSON.parse(failed.stderr).error.message).toContain(name)
  })
})

test('an error that repeats a name of a request has a bounded length', async () => {
  const name = 'x'.repeat(1_000_000)
  const refused = await client.directory.getProject({ account, name }).catch((error: unknown) => error)
  expect(refused).toMatchObject({ reason: 'NOT_FOUND' })
  expect((refused as Error).message.length).toBeLessThan(1_000)
})
