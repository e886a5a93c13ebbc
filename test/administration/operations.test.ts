/**
 * The table of operations: each call of `DirectoryService` is in it, with the right that the contract says it
 * needs.
 */
import { describe, expect, test } from 'vitest'
import { DirectoryServiceService } from '../../proto/gen/portcullis/v1/directory.ts'
import type { UserRecord } from '../../sidecar/directory/directory.ts'
import { isRead, OPERATIONS } from '../../sidecar/usecases/administration/administer.ts'
import type { Operation } from '../../sidecar/usecases/administration/operation.ts'
import { sourcesIn } from '../support/checkout/sources.ts'
import { type Method, RIGHTS, reads } from './rights.ts'

const METHODS = Object.keys(DirectoryServiceService) as Method[]

test('the table has an operation for each method of the contract, and no other', () => {
  expect(Object.keys(OPERATIONS).sort()).toEqual([...METHODS].sort())
})

describe.each(METHODS)('%s', (method) => {
  const {
    need,
    subject,
    forOwners,
    forOperators,
    ownersFromAnywhere,
    proof,
    revokes,
    reads: readsOnly,
  } = OPERATIONS[method] as unknown as Operation<object, UserRecord, unknown, unknown>
  const right = RIGHTS[method]

  test(`needs the right of ${right.need}`, () => {
    expect(need).toBe(right.need)
  })

  test(`${reads(method) ? 'only reads' : 'is more than reading'}`, () => {
    expect(readsOnly).toBe(reads(method))
    expect(isRead(method)).toBe(reads(method))
  })

  test(`is about ${right.about}`, () => {
    const request = { account: '123', name: 'a name', userName: 'a user', project: 'a project' }
    const expected = {
      'every account': { account: undefined },
      'the account': { account: '123' },
      name: { account: '123', controlPanelUser: 'a name' },
      userName: { account: '123', controlPanelUser: 'a user' },
    }
    expect(subject.about(request)).toStrictEqual(expected[right.about])
  })

  test(`is${right.ownersFromAnywhere ? '' : ' not'} open to an owner from any address`, () => {
    expect(ownersFromAnywhere === true).toBe(right.ownersFromAnywhere === true)
  })

  test.each<[claim: string, request: object, administers: boolean]>([
    ['nothing else', {}, false],
    ['no owner and other roles', { owner: false, roles: ['member'] }, false],
    ['an owner', { owner: true }, true],
    ['an administrator', { roles: ['member', 'iam.admin'] }, true],
  ])('needs a proof where it must, of a request with %s', (_claim, change, administers) => {
    const request = { account: '123', name: 'a name', ...change }
    const needed = typeof proof === 'function' ? proof(request) : proof === true
    expect(needed).toBe(right.proof === 'always' || (right.proof !== undefined && administers))
  })

  test.each<[claim: string, request: object, disables: boolean]>([
    ['nothing else', {}, false],
    ['what is enabled', { enabled: true }, false],
    ['what is disabled', { enabled: false, owner: undefined }, true],
    ['disabled, with other roles', { enabled: false, owner: undefined, roles: [] }, false],
    ['other roles', { enabled: undefined, roles: [] }, false],
  ])('takes rights away alone where it must, of a request with %s', (_claim, change, disables) => {
    const request = { account: '123', name: 'a name', ...change }
    // The request of a project has no roles.
    const alone = disables || (method === 'updateProject' && 'enabled' in change && change.enabled === false)
    expect(revokes?.(request) === true).toBe(
      right.revokes === 'always' || (right.revokes !== undefined && alone),
    )
  })

  test.each([undefined, false, true].flatMap((sets) => [false, true].map((is) => ({ sets, is }))))(
    'is for owners alone where it must be: owner set to $sets, on an owner: $is',
    ({ sets, is }) => {
      const request = { account: '123', name: 'a name', owner: sets }
      const decided = [
        forOwners?.request?.(request) === true,
        forOwners?.user?.({ ...A_USER, owner: is }, request) === true,
      ]
      expect(decided.includes(true)).toBe(right.forOwners?.(sets, is) === true)
    },
  )

  test.each([undefined, false, true].flatMap((sets) => [false, true].map((is) => ({ sets, is }))))(
    'is for operators alone where it must be: enabled set to $sets, on a validator: $is',
    ({ sets, is }) => {
      const request = { account: '123', name: 'a name', enabled: sets }
      const decided = forOperators?.({ ...A_USER, type: 'service_user', validator: is }, request) === true
      expect(decided).toBe(right.forOperators?.(sets, is) === true)
    },
  )
})

const A_USER = {
  account: '123',
  name: 'a name',
  id: '0'.repeat(32),
  type: 'control_panel_user',
  enabled: true,
  generation: 1,
  permissions: [],
  owner: false,
  roles: [],
  validator: false,
  createdAtMs: 0,
} as const

test('every change of the directory goes through the function that has its actor and its transaction', () => {
  const changing = sourcesIn('sidecar/').filter(({ text }) => /\b(?:store|directory)\.change\(/.test(text))
  expect(changing.map(({ path }) => path)).toEqual(['sidecar/authority/administration/change-directory.ts'])
})
