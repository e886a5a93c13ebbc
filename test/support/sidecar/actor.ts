/** The actor of the changes that tests make in process. */
import { trusted } from '../../../sidecar/authority/actor.ts'

export const TESTER = trusted('a test')
