import { words } from '../../words/words.ts'

export const t = words({
  title: ['Device positions', 'Wo Geräte stehen'],
  label: [
    'Plan of {n} device: arrow keys lead from one to the next, Enter opens it | Plan of {n} devices: arrow keys lead from one to the next, Enter opens it',
    'Plan von {n} Gerät: Pfeiltasten führen von einem zum nächsten, Enter öffnet es | Plan von {n} Geräten: Pfeiltasten führen von einem zum nächsten, Enter öffnet es',
  ],
  sheet: ['Floor plan', 'Grundriss'],
  ofAll: [
    'Everybody sees the picture, so changing it needs access to all groups.',
    'Alle sehen das Bild, und Sie sind auf Gruppen beschränkt.',
  ],
  x: ['To the right', 'Nach rechts'],
  y: ['Upwards', 'Nach oben'],
  none: ['No device has reported a position', 'Kein Gerät hat gesagt, wo es steht'],
  noneMore: [
    'The plan needs two metrics with numbers, such as position.x and position.y, or a longitude and a latitude. Name those that your devices report.',
    'Der Plan braucht zwei Metriken mit Zahlen, etwa position.x und position.y oder Länge und Breite. Nennen Sie die, die Ihre Geräte melden.',
  ],
  missing: [
    '{n} device has no position | {n} devices have no position',
    '{n} Gerät hat keinen Ort | {n} Geräte haben keinen Ort',
  ],
})
