import { user } from '../data/session.ts'
import type { Actor } from '../shadow-merge/authors.ts'
import { words } from '../words/words.ts'
import { personText } from './person-text.ts'
import { plainText } from './plain-text.ts'

const t = words({
  you: ['you', 'Ihnen'],
  user: ['user', 'Benutzer'],
  device: ['device', 'Gerät'],
  system: ['system', 'System'],
  ota: ['update', 'Update'],
})

export function actorText({ type, id }: Actor): string {
  if (type !== 'user') return `${t(type)} ${plainText(id)}`
  return id === user.value?.id ? t('you') : `${t('user')} ${personText(id)}`
}
