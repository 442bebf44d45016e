import { user } from '../data/session.ts'
import type { Actor } from '../shadow-merge/authors.ts'
import { words } from '../words/words.ts'
import { plainText } from './plain-text.ts'

const t = words({
  you: ['you', 'Ihnen'],
  user: ['user', 'Benutzer'],
  device: ['device', 'Gerät'],
  system: ['system', 'System'],
  ota: ['update', 'Update'],
})

/** The author of a change, as one reads it. */
export const actorText = ({ type, id }: Actor): string =>
  type === 'user' && id === user.value?.id ? t('you') : `${t(type)} ${plainText(id)}`
