/** Parts of the audit trail: from either end, with filters, and with a bounded look at each call. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { AuditFilter, AuditQuery, AuditRecord } from '../../../sidecar/directory/directory.ts'
import { DirectoryRecords } from '../../../sidecar/directory/records.ts'
import { whenTheFileEnds } from '../../support/suite/resources.ts'
import { changing } from './people.ts'
import type { Account, Opened, Subject } from './subject.ts'

/** Project names with every character that means something in a pattern, and letters beyond ASCII. */
const NAMES = [
  'alpha',
  'Alphabet',
  '100%',
  '1000',
  'a_b',
  'aXb',
  'wow!',
  'wow',
  'École',
  'ÉCOLE',
  'back\\slash',
]

export function auditPagesContract(subject: () => Subject): void {
  describe('of an account', () => {
    let account: Account
    let all: readonly AuditRecord[]
    beforeAll(async () => {
      const { clock, store, newAccount } = subject()
      const startedAtMs = clock.nowMs
      account = await newAccount()
      for (const name of NAMES) {
        clock.nowMs += 1000
        await changing(subject(), (change) => change.createProject(account, name))
        await newAccount()
      }
      // A clock that was set back.
      clock.nowMs = startedAtMs
      await changing(subject(), (change) => change.createProject(account, 'late'))
      all = await store.records.audit(account.account, { after: '0', size: 1000 })
    })

    /** All of them, page after page. */
    async function listed(query: Omit<AuditQuery, 'account'>): Promise<string[]> {
      const subjects: string[] = []
      for (let after: number | undefined; ; ) {
        const page = await subject().store.records.auditPage({ ...query, account: account.account, after })
        expect(page.records.length).toBeLessThanOrEqual(query.size)
        subjects.push(...page.records.map((record) => record.subject))
        if (page.next === undefined) return subjects
        after = page.next
      }
    }

    const at = (index: number) => all[index]?.atMs ?? 0
    test.each<
      [what: string, filter: () => AuditFilter | undefined, expected: (record: AuditRecord) => boolean]
    >([
      ['nothing', () => ({}), () => true],
      ['a text in both cases', () => ({ subject: 'ALPHA' }), ({ subject: name }) => /^alpha/i.test(name)],
      ['a percent sign', () => ({ subject: '0%' }), ({ subject: name }) => name === '100%'],
      ['an underscore', () => ({ subject: 'a_b' }), ({ subject: name }) => name === 'a_b'],
      ['the escape character', () => ({ subject: 'w!' }), ({ subject: name }) => name === 'wow!'],
      ['a backslash', () => ({ subject: 'k\\s' }), ({ subject: name }) => name === 'back\\slash'],
      ['a letter beyond ASCII', () => ({ subject: 'éc' }), () => false],
      ['such a letter as it is', () => ({ subject: 'Éc' }), ({ subject: name }) => /^É/.test(name)],
      ['an action', () => ({ action: 'project.' }), ({ action }) => action === 'project.create'],
      ['an actor', () => ({ actor: 'A Test' }), () => true],
      ['another actor', () => ({ actor: 'nobody' }), () => false],
      ['two texts', () => ({ action: 'create', subject: '1' }), ({ subject: name }) => /1/.test(name)],
      ['a first time', () => ({ sinceMs: at(4) }), ({ atMs }) => atMs >= at(4)],
      ['a last time', () => ({ untilMs: at(4) }), ({ atMs }) => atMs < at(4)],
      [
        'both, and a text',
        () => ({ sinceMs: at(2), untilMs: at(6), subject: 'a' }),
        ({ atMs, subject: name }) => atMs >= at(2) && atMs < at(6) && /a/i.test(name),
      ],
      ['no filter', () => undefined, () => true],
    ])('filtered by %s, in pages of any size, from either end', async (_what, filterOf, expected) => {
      const subjects = all.filter(expected).map((record) => record.subject)
      const filter = filterOf()
      for (const size of [1, 2, 1000]) {
        expect(await listed({ filter, size })).toEqual(subjects)
        expect(await listed({ filter, size, newestFirst: true })).toEqual(subjects.toReversed())
      }
    })
  })

  describe('of a long trail', () => {
    const RECORDS = 110_000
    let opened: Opened
    beforeAll(async () => {
      opened = await (await subject().newPlace()).open(() => 0)
      whenTheFileEnds(() => opened.store.close())
      await opened.store.change('a test', (change) => change.createAccount('long'))
      await opened.database.all(
        `INSERT INTO audit (at_ms, actor, action, account, subject, details)
         WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${RECORDS})
         SELECT n, 'somebody', 'project.create', 'long', 'project ' || n, '{}' FROM numbers`,
      )
      await opened.store.change('a test', (change) => change.createAccount('short'))
    })

    test.each([false, true])(
      'a call looks at a bounded number of records, and does other work meanwhile; newest first: %s',
      async (newestFirst) => {
        let turns = 0
        const count = () => {
          turns++
          turning = setImmediate(count)
        }
        let turning = setImmediate(count)
        const filter = { subject: 'no such project' }
        const { records } = opened.store
        const first = await records.auditPage({ account: '', newestFirst, filter, size: 10 })
        clearImmediate(turning)
        expect(first.records).toEqual([])
        expect(newestFirst ? RECORDS + 2 - (first.next ?? 0) + 1 : first.next).toBe(100_000)
        expect(turns).toBeGreaterThanOrEqual(9)
        const second = await records.auditPage({
          account: '',
          newestFirst,
          filter,
          size: 10,
          after: first.next,
        })
        expect(second).toEqual({ records: [], next: undefined })
      },
    )

    test('where the records of an account begin is looked up, and not searched for', async () => {
      const { database } = opened
      const asked: string[] = []
      const records = new DirectoryRecords({
        all: (sql, parameters = {}) => {
          asked.push(sql)
          return database.all(sql, parameters)
        },
      })
      const query = { account: 'long', earlier: false, size: 1 } as const
      const { records: oldest, next } = await records.auditPage(query)
      expect(oldest).toMatchObject([{ sequence: 1, action: 'account.create' }])
      expect(next).toBe(1)
      const newest = await records.auditPage({ ...query, newestFirst: true })
      expect(newest.records).toMatchObject([{ sequence: RECORDS + 1 }])
      expect(asked).toHaveLength(4)
    })

    test('no page leads to what was before the account, in either direction', async () => {
      const { store } = opened
      await store.change('a test', async (change) => {
        const [long] = (await change.records.accounts({ after: '', size: 1 })) as [Account]
        await change.deleteAccount(long)
        await change.createAccount('long')
      })
      const query = { account: 'long', earlier: false, size: 10 }
      const creation = await store.records.changeNumber()
      for (const filter of [undefined, { action: 'create' }])
        for (const newestFirst of [false, true])
          for (const after of [undefined, 5, creation]) {
            const { records, next } = await store.records.auditPage({ ...query, filter, newestFirst, after })
            const seen = newestFirst ? after === undefined : after !== creation
            expect(records.map(({ sequence }) => sequence)).toEqual(seen ? [creation] : [])
            expect(next).toBeUndefined()
          }
    })
  })
}
