import { words } from '../../words/words.ts'

export const t = words({
  tag: ['Tag', 'Tags'],
  move: ['Move to group', 'In Gruppe verschieben'],
  maintain: ['Start maintenance', 'Wartung beginnen'],
  release: ['End maintenance', 'Wartung beenden'],
  rollout: ['Roll out firmware', 'Firmware ausrollen'],
  add: ['Add tags', 'Tags hinzufügen'],
  remove: ['Remove tags', 'Tags entfernen'],
  tagsHint: ['Separate with commas.', 'Mehrere durch Kommas trennen.'],
  groupHint: ['A path such as eu/site-3. Empty: no group.', 'Ein Pfad wie eu/site-3. Leer: keine Gruppe.'],
  look: ['Preview changes', 'Wirkung ansehen'],
  will: ['{changed} of {total} devices will be changed', '{changed} von {total} Geräten werden geändert'],
  same: ['{n} already matches | {n} already match', '{n} ist schon so | {n} sind schon so'],
  skipped: ['{n} is skipped | {n} are skipped', '{n} wird übersprungen | {n} werden übersprungen'],
  byStatus: ['By status', 'Nach Status'],
  change: ['Change {n} device | Change {n} devices', '{n} Gerät ändern | {n} Geräte ändern'],
  changed: [
    '{n} device was changed | {n} devices were changed',
    '{n} Gerät wurde geändert | {n} Geräte wurden geändert',
  ],
  undone: ['Change undone.', 'Die Änderung wurde zurückgenommen.'],
  kept: [
    '{n} device keeps the change: {reason} | {n} devices keep the change: {reason}',
    '{n} Gerät behält die Änderung: {reason} | {n} Geräte behalten die Änderung: {reason}',
  ],
  failures: ['Not changed', 'Nicht geändert'],
  retry: [
    'Try the failed one again | Try the {n} failed ones again',
    'Das fehlgeschlagene noch einmal versuchen | Die {n} fehlgeschlagenen noch einmal versuchen',
  ],
  admin: ['Needs the role admin.', 'Braucht die Rolle Admin.'],
  operator: ['Needs the role operator.', 'Braucht die Rolle Operator.'],
  boundOrFilter: [
    'At most {n} devices at once, or all that match a filter.',
    'Höchstens {n} Geräte auf einmal, oder alle, auf die ein Filter passt.',
  ],
  bound: ['At most {n} devices at once.', 'Höchstens {n} Geräte auf einmal.'],
})
