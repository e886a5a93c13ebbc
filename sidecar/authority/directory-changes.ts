/** The changes of the directory that tokens depend on, for those who follow them. */
export type { Changes } from '../directory/feed/changes.ts'
export type { RecentRecord } from '../directory/feed/recent-records.ts'
export type { Position, TrueOf } from '../directory/feed/touches.ts'
