/** AuthZEN where nothing can be decided: there is no answer, and none of it is a permission. */
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  api,
  CALL,
  credential,
  EVALUATION,
  EVALUATIONS,
  startAuthzen,
  token,
} from '../support/proxies/authzen.ts'
import { eventually } from '../support/suite/resources.ts'

test('a directory that does not answer', async () => {
  const { post, credentials, running } = await startAuthzen()
  const subject = credential(credentials.account)
  const question = { subject, action: CALL, resource: api('balance') }
  const claims = { ...question, subject: token('static_token') }
  expect((await post(EVALUATION, question)).json.decision).toBe(true)

  const file = join(running.folder, 'directory.sqlite')
  renameSync(file, `${file}.away`)
  // A sidecar may rely on its last look for some milliseconds.
  await eventually(async () => (await post(EVALUATION, question)).status !== 200)
  const message = 'the directory file was replaced while it was open; restart the sidecar'
  for (const path of [EVALUATION, EVALUATIONS, '/access/v1/search/resource', '/access/v1/search/action']) {
    const { status, text, headers } = await post(path, question)
    expect([path, status, text]).toEqual([path, 503, message])
    expect(headers['retry-after']).toBe('1')
  }
  const { status, json, headers } = await post(EVALUATIONS, { ...question, evaluations: [{}, claims] })
  expect([status, json.evaluations]).toEqual([
    200,
    [
      { decision: false, context: { error: { status: 503, reason: 'DIRECTORY_REPLACED', message } } },
      expect.objectContaining({ decision: true }),
    ],
  ])
  // Of one evaluation of several, the log knows as much as of a request.
  const refusals = running.logLines.map((line) => JSON.parse(line))
  const evaluation = {
    status: 503,
    reason: 'DIRECTORY_REPLACED',
    request_id: headers['x-openstack-request-id'],
  }
  expect(refusals).toContainEqual(expect.objectContaining({ ...evaluation, msg: 'a request was refused' }))
  // Claims do not need the authority.
  expect((await post(EVALUATION, claims)).json.decision).toBe(true)
})
