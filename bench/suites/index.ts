/** All suites, in the order in which they run. */
import type { Suite } from '../harness/suite.ts'
import { changesSuite } from './changes.ts'
import { clientsSuite } from './clients.ts'
import { distanceSuite } from './distance.ts'
import { doorsSuite } from './doors.ts'
import { egressSuite } from './egress.ts'
import { engineSuite } from './engine.ts'
import { extAuthzSuite } from './ext-authz.ts'
import { fleetSuite } from './fleet.ts'
import { growthSuite } from './growth.ts'
import { issueSuite } from './issue.ts'
import { ownerSuite } from './owner.ts'
import { pageSuite } from './page.ts'
import { peersSuite, serversSuite } from './peers.ts'
import { policyTestsSuite } from './policy-tests.ts'
import { routesSuite } from './routes.ts'
import { sidecarSuite } from './sidecar.ts'
import { signalsSuite } from './signals.ts'
import { sizeSuite } from './size.ts'
import { startSuite } from './start.ts'
import { swapSuite } from './swap.ts'
import { tokensSuite } from './tokens.ts'
import { transportSuite } from './transport.ts'
import { upstreamSuite } from './upstream.ts'
import { workersSuite } from './workers.ts'

export const suites: readonly Suite[] = [
  engineSuite,
  policyTestsSuite,
  routesSuite,
  sidecarSuite,
  transportSuite,
  tokensSuite,
  changesSuite,
  distanceSuite,
  fleetSuite,
  issueSuite,
  upstreamSuite,
  egressSuite,
  doorsSuite,
  extAuthzSuite,
  signalsSuite,
  swapSuite,
  growthSuite,
  sizeSuite,
  ownerSuite,
  startSuite,
  workersSuite,
  clientsSuite,
  pageSuite,
  peersSuite,
  serversSuite,
]
