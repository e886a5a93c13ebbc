/** What the control panel costs a sidecar where users cannot log in: nothing of it is loaded. */
import { expect, test } from 'vitest'
import { loadedBy } from '../support/processes/loaded.ts'

const PARTS =
  /sidecar\/(?:(http|usecases|authority)\/control-panel\/|directory\/(factor-change|factor-records|panel-change|panel-records)\.)|node_modules\/(otpauth|@simplewebauthn)\//

const PAGE = { address: '127.0.0.1:0', connect: true, console: true }

test.each<[claim: string, http: object, loaded: string[]]>([
  ['a page without logins', PAGE, []],
  [
    'the control panel',
    { ...PAGE, control_panel: {} },
    // The libraries of second factors come with the first one.
    ['authority', 'factor-change', 'factor-records', 'http', 'panel-change', 'panel-records', 'usecases'],
  ],
])('a sidecar with %s loads only what it needs', async (_claim, http, loaded) => {
  expect(await loadedBy({ http }, PARTS)).toEqual(loaded)
})
