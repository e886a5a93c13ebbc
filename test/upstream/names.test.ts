/**
 * Names and ids in the answers of an upstream: a name that hides something or
 * looks like another name is never believed.
 */
import { describe, expect, test } from 'vitest'
import { readValidatedToken } from '../../sidecar/authority/upstream/token-answer.ts'
import { NO_NAMES } from '../support/inputs/names.ts'

const NOW = Date.parse('2026-11-23T00:00:00Z')
const DOMAIN = { id: 'd', name: '123456' }
const TOKEN = {
  user: { id: 'u', name: 'колобок 🥐' },
  project: { id: 'p', name: 'web café', domain: DOMAIN },
  roles: [{ name: 'member' }],
  expires_at: '2026-11-24T00:00:00Z',
}

const read = (change: object) =>
  readValidatedToken(
    { status: 200, headers: {}, body: JSON.stringify({ token: { ...TOKEN, ...change } }) },
    'gAAAAA-one',
    NOW,
  )

test('a name of several alphabets, with blanks between its words, is one', () => {
  expect(read({})).toMatchObject({
    subject: TOKEN.user,
    scope: { account: '123456', project: 'web café' },
    roles: ['member'],
  })
})

describe.each(NO_NAMES)('a name %s', (_what, name) => {
  test.each<[path: string, change: object]>([
    ['token.user.name', { user: { id: 'u', name } }],
    ['token.user.id', { user: { id: name, name: 'robot' } }],
    ['token.domain.name', { project: undefined, domain: { id: 'd', name } }],
    ['token.project.name', { project: { ...TOKEN.project, name } }],
    ['token.project.id', { project: { ...TOKEN.project, id: name } }],
    ['token.project.domain.name', { project: { ...TOKEN.project, domain: { id: 'd', name } } }],
    ['token.roles[1].name', { roles: [{ name: 'member' }, { name }] }],
  ])('is refused as %s', (path, change) => {
    expect(() => read(change)).toThrow(
      `NFC), without blanks around it and other blanks than the space in it, in \`${path}\``,
    )
  })
})
