/**
 * Keeps the folder of a sidecar of today's version for `test/directory/upgrade.test.ts`:
 * `node test/support/directory/keep-version.ts`. To be run once for each version of the schema. What is kept
 * is never made anew.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gzipSync } from 'node:zlib'
import type { Reason } from '../../../engine/index.ts'
import type { DirectoryFile } from '../../../sidecar/authority/administration/directory-file.ts'
import { applyFile } from '../../../sidecar/authority/administration/directory-file.ts'
import { publicKeysOf, readKeys } from '../../../sidecar/authority/keys.ts'
import type { OpenedAuthority } from '../../../sidecar/authority/open-authority.ts'
import { Secret } from '../../../sidecar/base/secret.ts'
import { ApplicationCredentialChange } from '../../../sidecar/directory/application-credential-records.ts'
import { userIn } from '../../../sidecar/directory/found.ts'
import { SCHEMA_VERSION } from '../../../sidecar/directory/schema.ts'
import { run } from '../../../sidecar/usecases/administration/run.ts'
import { TESTER } from '../sidecar/actor.ts'
import { fileOf, type Kept } from './kept-versions.ts'
import { issueTo, openAuthority, projectKind, tokenIdOf } from './scene.ts'

const ACCOUNT = '123456'
const OTHER = '654321'
const ALPHA = { scope: 'projects' as const, projects: ['alpha'] }
const WHOLE = { scope: 'account' as const }

const PEOPLE: DirectoryFile = {
  accounts: [
    {
      account: ACCOUNT,
      projects: ['alpha', 'beta'],
      service_users: [
        ...['account', 'revoked', 'disabled', 'deleted', 'replaced'].map((name) => ({
          name,
          permissions: [WHOLE],
        })),
        { name: 'alpha', permissions: [ALPHA] },
        { name: 'withdrawn', permissions: [ALPHA], roles: ['iam.admin'] },
        { name: 'validator', permissions: [], validator: true },
      ],
      control_panel_users: [{ name: 'olga', owner: true, static_tokens: ['reporting', 'old'] }],
    },
    { account: OTHER, service_users: [{ name: 'paused', permissions: [WHOLE] }] },
  ],
}

interface Token {
  readonly what: string
  readonly header: string
  readonly value: string
  readonly reason: Reason
}

/** Tokens of every sort: some are active, the others have ended for different reasons. */
async function fill(opened: OpenedAuthority): Promise<Token[]> {
  const { administration } = opened
  const { secrets } = await applyFile(administration, TESTER, PEOPLE)
  const secret = (by: object) =>
    secrets
      .find((each) => Object.entries(by).every(([key, value]) => Reflect.get(each, key) === value))
      ?.value.reveal() ?? ''
  const iam = async (user: string, reason: Reason, project?: string, account = ACCOUNT): Promise<Token> => ({
    what: user,
    header: 'X-Auth-Token',
    value: await issueTo(opened, account, secret({ user, type: 'password' }), user, project),
    reason,
  })
  const tokens: Token[] = [
    await iam('account', 'ALLOWED'),
    await iam('alpha', 'ALLOWED', 'alpha'),
    await iam('withdrawn', 'CREDENTIAL_REVOKED', 'alpha'),
    await iam('paused', 'CREDENTIAL_REVOKED', undefined, OTHER),
    { what: 'static', header: 'X-Token', value: secret({ name: 'reporting' }), reason: 'ALLOWED' },
    {
      what: 'revoked static',
      header: 'X-Token',
      value: secret({ name: 'old' }),
      reason: 'CREDENTIAL_REVOKED',
    },
  ]
  for (const user of ['revoked', 'disabled', 'deleted', 'replaced'])
    tokens.push(await iam(user, 'CREDENTIAL_REVOKED'))
  for (const { what, value } of tokens)
    if (what.startsWith('revoked'))
      await administration.directory.change(TESTER, async (change) =>
        change.revoke(await tokenIdOf(opened, value), ACCOUNT),
      )
  for (const [name, reason] of [
    ['nightly', 'ALLOWED'],
    ['old', 'CREDENTIAL_REVOKED'],
  ] as const)
    tokens.push({
      what: `application credential ${name}`,
      header: 'X-Auth-Token',
      value: await byCredential(opened, name, reason === 'CREDENTIAL_REVOKED'),
      reason,
    })
  const named = (name: string) => ({ account: ACCOUNT, name })
  await run(administration, TESTER, 'updateServiceUser', { ...named('disabled'), enabled: false })
  await run(administration, TESTER, 'deleteServiceUser', named('deleted'))
  await run(administration, TESTER, 'replaceServiceUserPassword', named('replaced'))
  for (const permissions of [[], [ALPHA]])
    await run(administration, TESTER, 'updateServiceUser', { ...named('withdrawn'), permissions })
  for (const enabled of [false, true])
    await run(administration, TESTER, 'updateAccount', { account: OTHER, enabled })
  return tokens
}

/** A token of an application credential of the user `alpha`. @param end whether the credential is deleted */
async function byCredential(
  { administration, authority }: OpenedAuthority,
  name: string,
  end: boolean,
): Promise<string> {
  const { id: projectId } = await run(administration, TESTER, 'getProject', {
    account: ACCOUNT,
    name: 'alpha',
  })
  const secret = new Secret('the secret of a credential')
  const secretHash = await administration.secrets.hash(secret, 'a test')
  const id = await administration.directory.change(TESTER, async (change) =>
    new ApplicationCredentialChange(change).add(
      await userIn(change.records, ACCOUNT, 'alpha', 'service_user'),
      {
        ...{ name, description: '', projectId, secretHash, expiresAt: undefined },
        ...{ roles: ['member'], limited: false, unrestricted: false },
      },
    ),
  )
  const kind = projectKind()
  const { value } = await authority.issueByCredential({ key: { id }, secret }, kind)
  const credential = { account: ACCOUNT, userName: 'alpha', id }
  if (end) await run(administration, TESTER, 'deleteApplicationCredential', credential)
  return value.reveal()
}

async function keep(target: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-kept-'))
  const opened = await openAuthority(folder)
  const tokens = await fill(opened)
  await opened.close()
  const read = (name: string) => readFileSync(join(folder, name))
  const database = new DatabaseSync(join(folder, 'directory.sqlite'))
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
  const files = {
    'directory.sqlite': packed(read('directory.sqlite')),
    // No private key: who tests only checks.
    'signing-keys.json': packed(publicKeysOf(readKeys(join(folder, 'signing-keys.json')))),
    'static-token-pepper': packed(read('static-token-pepper')),
  }
  rmSync(folder, { recursive: true })
  const kept: Kept = { issued_at: new Date().toISOString(), tokens, files }
  // It fails where the version is kept already.
  writeFileSync(target, `${JSON.stringify(kept, undefined, 2)}\n`, { flag: 'wx' })
}

const packed = (content: string | Buffer) => gzipSync(content, { level: 9 }).toString('base64')

await keep(fileOf(SCHEMA_VERSION))
