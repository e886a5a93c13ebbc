/** Where the files of the checkout are. */
import { join } from 'node:path'

/** Folder of the checkout. */
export const ROOT = join(import.meta.dirname, '..', '..')
