/** The path of a request is a boundary: a path that is not in the one canonical form is refused. */
import { describe, expect, test } from 'vitest'
import { readRequestTarget } from '../../sidecar/base/request-target.ts'
import { CANONICAL_TARGETS, HOSTILE_TARGETS } from '../support/inputs/paths.ts'

test.each(CANONICAL_TARGETS)('%j is read', (url, path, query) => {
  expect(readRequestTarget(url)).toEqual({ ok: true, path, query })
})

describe('is refused:', () => {
  test.each(HOSTILE_TARGETS)('%j', (url, expected) => {
    expect(readRequestTarget(url)).toEqual({ ok: false, expected })
  })
})

test('every encoded byte is either the only way to write that character, or refused', () => {
  const alone = Array.from({ length: 128 }, (_, byte) => byte).filter((byte) => {
    const encoded = `%${byte.toString(16).padStart(2, '0')}`
    return readRequestTarget(`/a/${encoded}/`).ok
  })
  expect(String.fromCharCode(...alone)).toBe(` !"#$%&'()*+,:;<=>?@[]^\`{|}`)
})
