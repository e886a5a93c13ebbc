/** Names are compared byte for byte, and lists are in byte order. */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Page } from '../../../sidecar/directory/directory.ts'
import { changing, newPanelUser, PASSWORD_HASH } from './people.ts'
import type { Subject } from './subject.ts'

/** Names that some comparisons treat as equal, or that have another order in UTF-16 than in UTF-8. */
const NAMES = [
  'alpha',
  'Alpha',
  'ALPHA',
  'alpha ',
  ' alpha',
  'alpha%',
  'alph_',
  "al'pha",
  'al"pha',
  'al\\pha',
  'al:pha',
  '$1',
  'é',
  'e\u0301',
  'É',
  'ß',
  'ss',
  'ſ',
  'ı',
  'i',
  'I',
  'İ',
  'К',
  'K',
  '\u212a',
  '中',
  '\uff5e',
  '\ufffd',
  '😀',
  '0',
  '00',
  '1e3',
  'NULL',
]

export function namesContract(subject: () => Subject): void {
  test('each of the names is a different project, and is found only by its own name', async () => {
    const { store, newAccount } = subject()
    const account = await newAccount()
    await changing(subject(), async (change) => {
      for (const name of NAMES) await change.createProject(account, name)
    })
    const found = await Promise.all(NAMES.map((name) => store.records.project(account.account, name)))
    expect(found.map((project) => project?.name)).toEqual(NAMES)
    expect(new Set(found.map((project) => project?.id)).size).toBe(NAMES.length)
  })

  test('a service user is found only by the exact name', async () => {
    const { store, newAccount } = subject()
    const account = await newAccount()
    await changing(subject(), (change) =>
      change.createUser(account, { name: 'é', type: 'service_user', passwordHash: PASSWORD_HASH }),
    )
    const found = await Promise.all(
      NAMES.map(async (name) => (await store.verification.serviceUser(account.account, name))?.name),
    )
    expect(found).toEqual(NAMES.map((name) => (name === 'é' ? name : undefined)))
    expect(await store.verification.serviceUser(account.account.toUpperCase(), 'é')).toBeUndefined()
  })

  test('1,200 names are listed by page in byte order, each one once', async () => {
    const { store, newAccount } = subject()
    const account = await newAccount()
    const names = [
      ...NAMES,
      ...Array.from({ length: 1200 - NAMES.length }, (_, index) => `${index}-å-${index % 7}`),
    ]
    await changing(subject(), async (change) => {
      for (const name of names) await change.createProject(account, name)
    })
    const listed = await everyPage(
      (page) => store.records.projects(account.account, page),
      ({ name }) => name,
      500,
    )
    expect(listed.map(({ name }) => name)).toEqual(inByteOrder(names))
  })

  /** Each list, and how to fill it with the names. */
  const LISTS: readonly [
    list: string,
    fill: (subject: Subject) => Promise<(page: Page) => Promise<string[]>>,
  ][] = [
    [
      'accounts',
      async (these) => {
        const { store } = these
        await changing(these, async (change) => {
          for (const name of NAMES) await change.createAccount(`list-${name}`)
        })
        // This list covers the whole directory, so records of other tests come before and after.
        return async ({ after, size }) => {
          const accounts = await store.records.accounts({
            after: after === '' ? 'list-' : `list-${after}`,
            size,
          })
          return accounts
            .map(({ account }) => account)
            .filter((account) => account.startsWith('list-'))
            .map((account) => account.slice('list-'.length))
        }
      },
    ],
    [
      'service users',
      async (these) => {
        const account = await these.newAccount()
        await changing(these, async (change) => {
          for (const name of NAMES) {
            await change.createUser(account, { name, type: 'service_user', passwordHash: PASSWORD_HASH })
            await change.createUser(account, { name: `${name}.`, type: 'control_panel_user' })
          }
        })
        return async (page) =>
          (await these.store.records.users(account.account, 'service_user', page)).map(({ name }) => name)
      },
    ],
  ]
  test.each(LISTS)('%s by pages of 4', async (_list, fill) => {
    const page = await fill(subject())
    expect(await everyPage(page, (name) => name, 4)).toEqual(inByteOrder(NAMES))
  })

  test('static tokens by pages of 3, in the order of their ids', async () => {
    const { store } = subject()
    const { user } = await newPanelUser(subject())
    const ids: string[] = []
    await changing(subject(), async (change) => {
      for (const name of NAMES)
        ids.push(
          await change.addStaticToken(user, {
            kind: 'static_token',
            name,
            hash: randomBytes(32),
            pepper: 'a fingerprint',
          }),
        )
    })
    const listed = await everyPage(
      (page) => store.records.staticTokens(user.id, page),
      ({ id }) => id,
      3,
    )
    expect(listed.map(({ id }) => id)).toEqual(inByteOrder(ids))
  })

  test('revocations by pages of 3, in the order of their ids', async () => {
    const { store, newAccount } = subject()
    const { account } = await newAccount()
    await changing(subject(), async (change) => {
      for (const name of NAMES) await change.revoke(`list-${name}`, account)
    })
    const listed = await everyPage(
      (page) => store.records.revocations(page),
      ({ tokenId }) => tokenId,
      3,
    )
    const ids = listed.map(({ tokenId }) => tokenId).filter((id) => id.startsWith('list-'))
    expect(ids).toEqual(inByteOrder(NAMES.map((name) => `list-${name}`)))
  })
}

function inByteOrder(names: readonly string[]): string[] {
  return names.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
}

async function everyPage<T>(
  list: (page: Page) => Promise<T[]>,
  keyOf: (record: T) => string,
  size: number,
): Promise<T[]> {
  const all: T[] = []
  for (let after = ''; ; ) {
    const records = await list({ after, size })
    expect(records.length).toBeLessThanOrEqual(size)
    const last = records.at(-1)
    if (last === undefined) return all
    all.push(...records)
    after = keyOf(last)
  }
}
