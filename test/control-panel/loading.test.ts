/** The code of the control panel is not loaded where users cannot log in. */
import { testLoading } from '../support/processes/loaded.ts'

const PARTS =
  /sidecar\/(?:(http|usecases|authority)\/control-panel\/|directory\/(factor-change|factor-records|panel-change|panel-records)\.)|node_modules\/(otpauth|@simplewebauthn)\//

const PAGE = { address: '127.0.0.1:0', connect: true, console: true }

testLoading(PARTS, [
  ['a page without logins', { http: PAGE }, []],
  [
    'the control panel',
    { http: { ...PAGE, control_panel: {} } },
    // The libraries of second factors come with the first one.
    ['authority', 'factor-change', 'factor-records', 'http', 'panel-change', 'panel-records', 'usecases'],
  ],
])
