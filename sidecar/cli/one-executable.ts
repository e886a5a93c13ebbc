/**
 * Starts the command line in the single executable, where `sidecar/portcullis.js` does elsewhere: Node is the
 * one that was built in.
 */
import { WORKER_WORD } from '../process/workers/worker-messages.ts'

// The primary starts a worker with a channel. Nothing else does, so the word is not a command.
if (process.argv[2] === WORKER_WORD && process.send !== undefined) void import('../process/workers/worker.ts')
else void import('./main.ts').then(({ main }) => main(process.argv))
