/** The administration commands: their reports, and the mistakes that they prevent. */
import { describe, expect, test, vi } from 'vitest'
import { printList } from '../../sidecar/cli/administration/administration-output.ts'
import { command } from '../support/processes/command-line.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'

const { address, folder } = await runSidecar()
Object.assign(process.env, { PORTCULLIS_GRPC_ADDRESS: address, PORTCULLIS_DATA: folder })
const portcullis = (...args: string[]) => command(args)
const done = async (...args: string[]) => {
  const { code, stdout, stderr } = await portcullis(...args)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}
await done('account', 'create', '777')

describe('commands with far-reaching effects', () => {
  test('an address restriction is removed only by --none', async () => {
    await done('address-restriction', 'set', '777', '10.0.0.0/8')
    for (const given of [[], ['10.0.0.1', '--none']])
      expect(await portcullis('address-restriction', 'set', '777', ...given)).toEqual({
        code: 2,
        stdout: '',
        stderr: 'portcullis: expected at least one range, or --none\n',
      })
    expect(await done('address-restriction', 'show', '777')).toBe('10.0.0.0/8\n')
    expect(await done('address-restriction', 'set', '777', '--none')).toBe('no ranges\n')
    expect(await done('address-restriction', 'show', '777')).toBe('no ranges\n')
  })

  test('deleting an account reports the number of deleted records', async () => {
    await done('account', 'create', '778')
    for (const name of ['alpha', 'beta']) await done('project', 'create', '778', name)
    await done('service-user', 'create', '778', 'job')
    await done('control-panel-user', 'create', '778', 'olga')
    expect(await done('account', 'delete', '778')).toBe('projects  2\nusers     2\n')
  })
})

test('a static token is found by its end and its note, in the list and in the whole directory', async () => {
  await done('account', 'create', '782')
  await done('control-panel-user', 'create', '782', 'olga')
  const create = ['static-token', 'create', '782', 'olga', 'reporting', '--note', 'monthly report']
  const made = JSON.parse(await done(...create, '--json')) as { value: string; token: { token_id: string } }
  const end = made.value.slice(-4)
  const [head = '', row = ''] = (await done('static-token', 'list', '782', 'olga')).split('\n')
  expect(head.split(/ {2,}/)).toEqual([
    ...['token_id', 'account', 'user_name', 'name', 'last_four', 'note', 'kind', 'created_at'],
    ...['revoked_at', 'last_used_day'],
  ])
  expect(row).toContain(`reporting  ${end}       monthly report  `)
  expect(await done('directory', 'show', '--data', folder)).toContain(`reporting (…${end})`)
  const [, record = ''] = (await done('audit', 'list', '782', '--action', 'static_token')).split('\n')
  expect(record).toMatch(new RegExp(` {2}reporting {2}${made.token.token_id} {2}`))
  const [line = ''] = (await done('audit', 'export', '782', '--action', 'static_token')).split('\n')
  expect(JSON.parse(line)).toMatchObject({ subject: 'reporting', subject_id: made.token.token_id })
})

test('the whole directory ends with what is left of deletions', async () => {
  const shown = async (...more: string[]) => done('directory', 'show', '--data', folder, ...more)
  const leftIn = (text: string) => JSON.parse(text).left
  const before = leftIn(await shown('--json'))
  await done('account', 'create', '783')
  for (const name of ['olga', 'igor']) await done('control-panel-user', 'create', '783', name)
  await done('project', 'create', '783', 'alpha')
  await done('control-panel-user', 'delete', '783', 'igor', '--yes')
  await done('account', 'delete', '783', '--yes')
  const { unmarked, due, kept } = before
  const after = {
    unmarked: { users: unmarked.users + 1, projects: unmarked.projects + 1 },
    due,
    kept: { ...kept, users: kept.users + 1 },
  }
  expect(leftIn(await shown('--json'))).toEqual(after)
  const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`
  expect((await shown()).split('\n').filter((line) => line.includes('deletions'))).toEqual([
    `left of deletions: ${counted(after.unmarked.users, 'user')} and ${counted(after.unmarked.projects, 'project')} to mark`,
    `left of deletions: ${counted(after.kept.users, 'user')} and ${counted(after.kept.projects, 'project')} kept for now`,
  ])
})

test('a preview of an address restriction shows oneself first, and others in a table', async () => {
  await done('account', 'create', '781')
  const preview = () => done('address-restriction', 'preview', '781', '10.0.0.0/8')
  const own = 'requester address  127.0.0.1\nrequester allowed  true\n'
  expect(await preview()).toBe(`${own}others             none\ntruncated          false\n`)
  const { password } = JSON.parse(
    await done(
      'service-user',
      'create',
      '781',
      'admin',
      '--role',
      'iam.admin',
      '--permission',
      'account',
      '--json',
    ),
  ) as { password: string }
  process.env.PORTCULLIS_PASSWORD = password
  const { stdout } = await portcullis('issue', '--account', '781', '--user', 'admin')
  await done('project', 'create', '781', 'theirs', '--iam-token-file', newFile(stdout))
  expect(await preview()).toMatch(
    /\ntruncated +false\n\nwho +address +last_seen +allowed\nadmin +127\.0\.0\.1 +\S+ +false\n$/,
  )
})

describe('audit list', () => {
  const subjects = async (...options: string[]) => {
    const { records } = JSON.parse(await done('audit', 'list', '780', ...options, '--json')) as {
      records: { action: string; subject: string; at: string }[]
    }
    return records.map(({ action, subject }) => `${action} ${subject}`)
  }

  test('takes what records contain, times, and the direction', async () => {
    await done('account', 'create', '780')
    for (const name of ['alpha', 'beta']) await done('project', 'create', '780', name)
    const all = ['account.create 780', 'project.create alpha', 'project.create beta']
    expect(await subjects()).toEqual(all.toReversed())
    expect(await subjects('--oldest-first')).toEqual(all)
    expect(await subjects('--action', 'PROJECT', '--subject', 'alp')).toEqual(['project.create alpha'])
    expect(await subjects('--actor', 'nobody')).toEqual([])
    expect(
      await subjects('--since', '2020-01-01', '--until', '9999-01-01T00:00+01:00', '--oldest-first'),
    ).toEqual(all)
    expect(await subjects('--until', '2020-01-01T10:00:00.5Z')).toEqual([])
    expect(await portcullis('audit', 'list', '780', '--actor', 'nobody')).toEqual({
      ...{ code: 0, stdout: '', stderr: 'no records\n' },
    })
  })

  test.each(['yesterday', '2026-11-22Z', '2026-13-01', '2026-02-30', '22.11.2026', '2 d'])(
    '%s is not a time',
    async (text) => {
      expect(await portcullis('audit', 'list', '--since', text)).toEqual({
        code: 2,
        stdout: '',
        stderr:
          'portcullis: --since: expected a day, a time such as 2026-11-22T10:00:00Z, or how long ago, such as 2d\n',
      })
    },
  )
})

test.each(['project', 'service-user', 'control-panel-user'])(
  'an account without a %s has an empty list, and an unknown account is NOT_FOUND',
  async (group) => {
    const { code, stdout, stderr } = await portcullis(group, 'list', '777')
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toMatch(/^no (projects|users)\n$/)
    expect(await done(group, 'list', '777', '--json')).toMatch(/^\{"(projects|users)":\[\]\}\n$/)
    expect(await portcullis(group, 'list', '999')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'portcullis: NOT_FOUND: there is no account `999`\n',
    })
  },
)

describe('a list is printed while its pages arrive', () => {
  /** The output before each page is asked for, and behind the last one. */
  async function printed(json: boolean): Promise<string[]> {
    let stdout = ''
    const write = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
      stdout += chunk
      return true
    })
    const before: string[] = []
    async function* pages() {
      for (const page of [[{ name: 'a', note: '' }], [{ name: 'b', note: 'long' }, { name: 'ccc' }]]) {
        before.push(stdout)
        yield page
      }
    }
    await printList({ key: 'users', pages: pages() }, { json })
    write.mockRestore()
    return [...before, stdout]
  }

  test('as a table', async () => {
    const first = 'name  note\na\n'
    expect(await printed(false)).toEqual(['', first, `${first}b     long\nccc\n`])
  })

  test('as one line of JSON', async () => {
    const first = '{"users":[{"name":"a","note":""}'
    expect(await printed(true)).toEqual(['', first, `${first},{"name":"b","note":"long"},{"name":"ccc"}]}\n`])
  })
})

test('a token is revoked by its id with the administrator token of the same data folder', async () => {
  const id = 'A'.repeat(22)
  expect(await done('revoke', '--token-id', id)).toMatch(`revoked ${id} at `)
})

test('the keys commands use the same data folder', async () => {
  expect(await done('keys', 'show')).toMatch(/^[0-9a-f]{16} +active +since .*\n[0-9a-f]{16} +staged /)
  expect(await done('keys', 'public')).not.toContain('private_key')
})

test('keys public always prints JSON, so it has no --json', async () => {
  expect((await portcullis('keys', 'public', '--json')).stderr).toContain("unknown option '--json'")
})
