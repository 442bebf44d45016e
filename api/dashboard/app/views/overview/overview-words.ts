import { words } from '../../words/words.ts'

export const t = words({
  title: ['Overview', 'Übersicht'],
  devices: ['{n} devices', '{n} Geräte'],
  counts: ['Devices by status', 'Geräte nach Status'],
  moved: ['{n} in 15 min', '{n} in 15 min'],
  rate: ['messages/s', 'Nachrichten/s'],
  lag: ['behind by {ms} ms', '{ms} ms Rückstand'],
  map: ['Fleet by group', 'Flotte nach Gruppen'],
  mapLabel: [
    'Map of {n} devices in {groups} groups. The arrow keys go from device to device, Enter opens, Space previews, V shows a table instead.',
    'Karte von {n} Geräten in {groups} Gruppen. Die Pfeiltasten gehen von Gerät zu Gerät, Eingabe öffnet, Leertaste zeigt eine Vorschau, V zeigt stattdessen eine Tabelle.',
  ],
  asTable: ['Show as a table', 'Als Tabelle zeigen'],
  asMap: ['Show as a map', 'Als Karte zeigen'],
  depth: ['Group levels', 'Gruppenebenen'],
  colour: ['Colour by', 'Farbe nach'],
  noGroup: ['without a group', 'ohne Gruppe'],
  status: ['status', 'Status'],
  seen: ['last seen', 'zuletzt gesehen'],
  alert: ['alert', 'Alarm'],
  sync: ['sync', 'Abgleich'],
  group: ['Group', 'Gruppe'],
  total: ['Devices', 'Geräte'],
  trouble: ['Trouble', 'Probleme'],
  shares: ['Status', 'Status'],
  attention: ['Needs attention', 'Braucht Aufmerksamkeit'],
  calm: ['Nothing needs a person now.', 'Gerade braucht nichts einen Menschen.'],
  hidden: [
    {
      one: '{n} case is hidden until it changes · show',
      other: '{n} cases are hidden until they change · show',
    },
    {
      one: '{n} Fall ist ausgeblendet, bis er sich ändert · zeigen',
      other: '{n} Fälle sind ausgeblendet, bis sie sich ändern · zeigen',
    },
  ],
  hide: ['Hide {name} until it changes', '{name} ausblenden, bis es sich ändert'],
  lost: ['{group} lost {n} devices', '{group} hat {n} Geräte verloren'],
  error: [
    { one: '{n} device reports an error', other: '{n} devices report an error' },
    { one: '{n} Gerät meldet einen Fehler', other: '{n} Geräte melden einen Fehler' },
  ],
  critical: [
    { one: '{n} device has a critical alert', other: '{n} devices have a critical alert' },
    { one: '{n} Gerät hat einen kritischen Alarm', other: '{n} Geräte haben einen kritischen Alarm' },
  ],
  flapping: [
    { one: '{n} device comes and goes', other: '{n} devices come and go' },
    { one: '{n} Gerät kommt und geht', other: '{n} Geräte kommen und gehen' },
  ],
  'out-of-sync': [
    {
      one: '{n} device has not taken over its shadow',
      other: '{n} devices have not taken over their shadow',
    },
    {
      one: '{n} Gerät hat seinen Schatten nicht übernommen',
      other: '{n} Geräte haben ihren Schatten nicht übernommen',
    },
  ],
  rule: [
    { one: '{name}: {n} alert', other: '{name}: {n} alerts' },
    { one: '{name}: {n} Alarm', other: '{name}: {n} Alarme' },
  ],
  moreAlerts: [
    { one: '{n} more alert is open', other: '{n} more alerts are open' },
    { one: '{n} weiterer Alarm ist offen', other: '{n} weitere Alarme sind offen' },
  ],
  rolloutPaused: ['Rollout {name} is paused', 'Rollout {name} ist angehalten'],
  rolloutFailed: ['Rollout {name} has failed', 'Rollout {name} ist gescheitert'],
  rolloutRuns: ['Rollout {name} is at {share}', 'Rollout {name} ist bei {share}'],
  letters: [
    {
      one: '{n} message could not be processed: {reason}',
      other: '{n} messages could not be processed: {reason}',
    },
    {
      one: '{n} Nachricht war nicht zu verarbeiten: {reason}',
      other: '{n} Nachrichten waren nicht zu verarbeiten: {reason}',
    },
  ],
  casesMissing: [
    'Some cases could not be read and may be missing.',
    'Manche Fälle ließen sich nicht lesen und fehlen vielleicht.',
  ],
  day: ['24 hours', '24 Stunden'],
  first: ['first {id}', 'zuerst {id}'],
  fleet: ['The fleet', 'Die Flotte'],
  failedCommands: [
    { one: '{n} command failed in the last hour', other: '{n} commands failed in the last hour' },
    {
      one: '{n} Befehl schlug in der letzten Stunde fehl',
      other: '{n} Befehle schlugen in der letzten Stunde fehl',
    },
  ],
  strip: ['The service now', 'Der Dienst jetzt'],
  points: ['points/s', 'Messwerte/s'],
  ingestLag: ['ingest lag', 'Rückstand'],
  open: ['open commands', 'offene Befehle'],
  alerts: ['open alerts', 'offene Alarme'],
  rollouts: ['active rollouts', 'laufende Rollouts'],
  unknown: ['unknown', 'unbekannt'],
  nothing: ['No device fits the filter', 'Kein Gerät passt zum Filter'],
})
