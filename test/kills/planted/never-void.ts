/** Loaded into a process: what it remembers of a token is true for ever. */
import { replaceIn } from '../replacing.ts'

replaceIn('/sidecar/directory/feed/recent-changes.ts', [' || this.#wasTouched(remembered)', ''])
