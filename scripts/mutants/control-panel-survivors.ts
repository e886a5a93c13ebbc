/** Mutants of the control panel's use cases, and of those around decisions, that no test can kill. */
import { type Survivor, survivors } from './survivor.ts'

export const OF_CONTROL_PANEL: readonly Survivor[] = [
  ...survivors(
    'sidecar/usecases/control-panel/confirm-session.ts',
    'A passkey is asked to confirm the session of a user alone, so no answer is for that of a caller.',
    [
      "if (session.holder !== 'user' || session.user.id !== userId) throw callError('PASSKEY_REFUSED', {})",
      "session.holder !== 'user'",
      'false',
    ],
  ),
  ...survivors(
    'sidecar/usecases/control-panel/confirm-session.ts',
    'The session of a user has no digest of a caller token, so no digest is the same.',
    [
      "if (session.holder !== 'caller' || digest?.toString('hex') !== session.callerDigest)",
      "session.holder !== 'caller'",
      'false',
    ],
  ),
  ...survivors(
    'sidecar/usecases/control-panel/operator.ts',
    'A look at everything takes the right to read, whatever it is for: it is about no account.',
    ["authorizeCaller(requester.caller, 'operator', { account: undefined }, true)", "'operator'", '""'],
    [
      "authorizeCaller(requester.caller, 'operator', { account: undefined }, true)",
      '{ account: undefined }',
      '{}',
    ],
  ),
  ...survivors('sidecar/usecases/control-panel/operator.ts', 'No time has come that is not there.', [
    'expired: expiresAtMs !== undefined && nowMs >= expiresAtMs,',
    'expiresAtMs !== undefined',
    'true',
  ]),
  ...survivors('sidecar/usecases/intake.ts', 'No caller has such a name.', [
    'certificateNames = [],',
    '[]',
    '["Stryker was here"]',
  ]),
]
