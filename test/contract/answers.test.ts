/**
 * Answers that our own code encodes have exactly the bytes of the generated encoder. The fields of the
 * decision, which are encoded once, come before those of the call, whatever their numbers.
 */
import { BinaryWriter } from '@bufbuild/protobuf/wire'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { finish } from '../../engine/index.ts'
import * as wire from '../../proto/gen/portcullis/v1/authorization.ts'
import type { VerifiedToken } from '../../sidecar/authority/authority.ts'
import { checkBatchResponse, checkStreamResponse, EncodedAnswers } from '../../sidecar/contract/responses.ts'
import { engine } from '../support/matrices/engines.ts'

const CACHE_FOR_MS = 30_500
const NOW_MS = 1_790_000_000_123

/**
 * Texts of any characters, with lengths just below and above the limits where the length takes one more byte.
 */
const texts = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.string({ unit: 'grapheme-ascii', minLength: 120, maxLength: 135 }),
  fc
    .tuple(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
      fc.integer({ min: 5_000, max: 17_000 }),
    )
    .map(([character, count]) => character.repeat(count)),
)
const times = fc.integer({ min: 0, max: 2 ** 33 * 1000 })
const tokens: fc.Arbitrary<VerifiedToken> = fc
  .record({
    kind: texts,
    scope: fc.record({ account: texts, project: fc.option(texts, { nil: undefined }) }),
    subject: fc.record({ id: texts, name: texts, type: texts }),
    tokenId: texts,
    issuedAtMs: times,
    expiresAtMs: fc.option(fc.oneof(times, fc.integer({ min: NOW_MS, max: NOW_MS + 60_000 })), {
      nil: undefined,
    }),
    authority: fc.option(
      texts.filter((text) => text !== ''),
      { nil: undefined },
    ),
    projectId: fc.option(
      texts.filter((text) => text !== ''),
      { nil: undefined },
    ),
    derivedFrom: fc.option(
      fc.array(
        texts.filter((text) => text !== ''),
        { maxLength: 3 },
      ),
      { nil: undefined },
    ),
    roles: fc.option(
      fc.array(
        texts.filter((text) => text !== ''),
        { maxLength: 3 },
      ),
      { nil: undefined },
    ),
    countsOnce: fc.option(fc.constant(true as const), { nil: undefined }),
  })
  .map(({ authority, roles, projectId, derivedFrom, countsOnce, ...token }) => ({
    ...token,
    ...(projectId !== undefined && { projectId }),
    ...(derivedFrom !== undefined && { derivedFrom }),
    ...(authority !== undefined && { authority }),
    ...(roles !== undefined && { roles }),
    ...(countsOnce && { countsOnce }),
  }))
const positions = fc.option(fc.record({ sequence: fc.nat(), atMs: fc.nat({ max: 4_000_000_000_000 }) }), {
  nil: undefined,
})
const decisions = fc.constantFrom(...engine.decisions())
/** The decisions that claims can get. They have no advice, because advice is about holders. */
const claimed = fc.constantFrom(...[...engine.decisions()].filter(({ advice }) => advice.length === 0))
const answers = finish(EncodedAnswers.of(engine, CACHE_FOR_MS))

/** A field of bytes: its number, and wire type 2. */
const RESULT_TAG = (1 << 3) | 2
const STREAMED_RESULT_TAG = (2 << 3) | 2

/** The length of a field, as the library writes it. */
function lengthOf(bytes: Buffer): Uint8Array {
  return new BinaryWriter().uint32(bytes.length).finish()
}

const NOTHING = wire.CheckResponse.decode(new Uint8Array())

/** An answer as the generated encoder writes it: the fields of the decision, then those of the call. */
function encoded(answer: wire.CheckResponse): Buffer {
  const { verified, token, cacheFor, position, ...decision } = answer
  const parts = [
    { ...NOTHING, ...decision },
    { ...NOTHING, verified, token, cacheFor, position },
  ]
  return Buffer.concat(parts.map((part) => wire.CheckResponse.encode(part).finish()))
}

test('an answer to credentials', () => {
  fc.assert(
    fc.property(decisions, tokens, fc.boolean(), positions, (decision, token, verified, position) => {
      const bytes = answers.forCredentials({ decision, token, verified }, position, 'keys', NOW_MS)
      const answer = wire.CheckResponse.decode(bytes)
      expect(encoded(answer).equals(bytes)).toBe(true)

      const { kind, scope, subject, tokenId, issuedAtMs, expiresAtMs } = token
      expect(answer.token).toEqual({
        kind,
        scope: { account: scope.account, project: scope.project ?? '' },
        subject,
        tokenId,
        issuedAt: new Date(issuedAtMs),
        expiresAt: expiresAtMs === undefined ? undefined : new Date(expiresAtMs),
        roles: token.roles ?? [],
        authority: token.authority ?? '',
        projectId: token.projectId ?? '',
        derivedFrom: token.derivedFrom ?? [],
      })
      const isPlaced = token.authority === undefined && token.countsOnce === undefined
      const told = isPlaced ? position : undefined
      expect(answer.position).toEqual(
        told && { change: told.sequence, recordedAt: new Date(told.atMs), basis: 'keys' },
      )
      expect(answer.verified).toBe(verified)
      const leftMs = Math.max(0, (expiresAtMs ?? Number.POSITIVE_INFINITY) - NOW_MS)
      const { seconds, nanos } = answer.cacheFor ?? { seconds: Number.NaN, nanos: 0 }
      if (verified) expect(seconds * 1000 + nanos / 1e6).toBe(Math.min(CACHE_FOR_MS, leftMs))
      else expect(answer.cacheFor).toBeUndefined()
    }),
    { numRuns: 200 },
  )
})

test('a batch, short and long, one after the other', () => {
  fc.assert(
    fc.property(fc.array(claimed, { maxLength: 3_000, size: 'max' }), (asked) => {
      const results = asked.map((decision) => answers.forClaims(decision))
      for (const result of results)
        expect(encoded(wire.CheckResponse.decode(result)).equals(result)).toBe(true)
      const expected = results.flatMap((result) => [Buffer.of(RESULT_TAG), lengthOf(result), result])
      expect(checkBatchResponse(results).equals(Buffer.concat(expected))).toBe(true)
    }),
    { numRuns: 10 },
  )
})

test('an answer on a stream, with and without an id', () => {
  fc.assert(
    fc.property(fc.oneof(fc.constant(''), texts), claimed, (id, decision) => {
      const result = answers.forClaims(decision)
      const named = Buffer.from(wire.CheckStreamResponse.encode({ id, result: undefined }).finish())
      const expected = [named, Buffer.of(STREAMED_RESULT_TAG), lengthOf(result), result]
      expect(checkStreamResponse(id, result).equals(Buffer.concat(expected))).toBe(true)
      expect(wire.CheckStreamResponse.decode(checkStreamResponse(id, result))).toEqual({
        id,
        result: wire.CheckResponse.decode(result),
      })
    }),
  )
})
