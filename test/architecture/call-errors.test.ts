/**
 * The reasons why a call gets no answer: one closed table, which the contract and the documents list, and
 * which code does not compare with.
 */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CALL_ERRORS, callError } from '../../sidecar/base/call-error.ts'
import { ROOT, sourcesIn } from '../support/checkout/sources.ts'

const reasons = Object.keys(CALL_ERRORS)
const rows = Object.entries(CALL_ERRORS).map(([reason, { code, message, retry }]) => ({
  reason,
  code,
  message,
  retry,
}))

test('the contract lists every reason with its code, its message and whether a retry helps, and no other', () => {
  const contract = readFileSync(`${ROOT}proto/portcullis/v1/error_reason.proto`, 'utf8')
    // A comment may take several lines.
    .replaceAll(/(?<=^ {2}\/\/ .*)\n {2}\/\/ /gm, ' ')
  const listed = [
    ...contract.matchAll(
      /^ {2}\/\/ ([A-Z_]+): "(.+)"\. (Retry later|Do not retry)\.\n {2}ERROR_REASON_([A-Z_]+) = /gm,
    ),
  ].map(([, code, message, advice, reason]) => ({ reason, code, message, retry: advice === 'Retry later' }))
  // The contract lists them by number, the table by code.
  type Named = { reason: string | undefined }
  const byReason = (a: Named, b: Named) => String(a.reason).localeCompare(String(b.reason))
  expect(listed.toSorted(byReason)).toEqual(rows.toSorted(byReason))
})

test('no message has a section of the source, which clients do not know', () => {
  expect(rows.filter(({ message }) => message.includes('§'))).toEqual([])
})

test('no code but the table names a reason except to give it', () => {
  const compared = new RegExp(`[!=]== '(?:${reasons.join('|')})'|case '(?:${reasons.join('|')})'`)
  const codes = new Set<string>(Object.values(CALL_ERRORS).map(({ code }) => code))
  const offences = sourcesIn('sidecar/', 'clients/')
    .filter(({ path, generated }) => !generated && path !== 'sidecar/base/call-error.ts')
    .flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, index) => {
        const [found] = compared.exec(line) ?? []
        const name = found?.match(/'(.*)'/)?.[1] ?? ''
        // A switch over codes is the translation of a protocol; these two are reasons of decisions, too.
        const ofElsewhere = codes.has(name) || ['ADDRESS_NOT_ALLOWED', 'CREDENTIAL_REVOKED'].includes(name)
        return found === undefined || ofElsewhere ? [] : [`${path}:${index + 1}: ${found}`]
      }),
    )
  expect(offences).toEqual([])
})

test('a message has the values in the places of its shape', () => {
  expect(callError('NO_SUCH_PROJECT', { account: '123', project: 'alpha' })).toMatchObject({
    code: 'FAILED_PRECONDITION',
    reason: 'NO_SUCH_PROJECT',
    message: 'account `123` has no project `alpha`',
  })
  // @ts-expect-error a value that the shape names is missing
  expect(callError('NO_SUCH_PROJECT', { account: '123' }).message).toContain('undefined')
  // @ts-expect-error a reason that is not in the table
  expect(() => callError('SOMETHING_ELSE', {})).toThrow(TypeError)
})
