import { words } from '../../words/words.ts'

export const t = words({
  devices: ['{n} devices', '{n} Geräte'],
  counts: ['Devices by status', 'Geräte nach Status'],
  moved: ['{n} in 15 min', '{n} in 15 min'],
  rate: ['messages/s', 'Nachrichten/s'],
  lag: ['lag {ms} ms', '{ms} ms Rückstand'],
  map: ['Fleet by group', 'Flotte nach Gruppen'],
  mapLabel: [
    'Map of {n} devices in {groups} groups. The arrow keys go from device to device, with Shift they select, plus and minus zoom, Enter opens, Space previews, V shows a table instead.',
    'Karte von {n} Geräten in {groups} Gruppen. Die Pfeiltasten gehen von Gerät zu Gerät, mit Umschalt wählen sie aus, Plus und Minus vergrößern und verkleinern, Eingabe öffnet, Leertaste zeigt eine Vorschau, V zeigt stattdessen eine Tabelle.',
  ],
  asTable: ['Show as a table', 'Als Tabelle zeigen'],
  asMap: ['Show as a map', 'Als Karte zeigen'],
  keyEnd: ['Close the panel or the selection', 'Vorschau oder Auswahl schließen'],
  depth: ['Group levels', 'Gruppenebenen'],
  colour: ['Colour by', 'Farbe nach'],
  status: ['status', 'Status'],
  seen: ['last seen', 'zuletzt gesehen'],
  alert: ['alert', 'Alarm'],
  sync: ['sync', 'Abgleich'],
  fw: ['firmware', 'Firmware'],
  metric: ['metric', 'Metrik'],
  metricName: ['Metric', 'Metrik'],
  noMetric: [
    'Choose a metric that devices report as a number.',
    'Wählen Sie eine Metrik, die Geräte als Zahl melden.',
  ],
  otherVersion: ['other version or none', 'andere Version oder keine'],
  hasCritical: ['critical alert', 'kritischer Alarm'],
  hasWarning: ['warning', 'Warnung'],
  hasNone: ['no alert', 'kein Alarm'],
  outOfSync: ['shadow out of sync', 'Shadow nicht übernommen'],
  inSync: ['in sync', 'abgeglichen'],
  seen1m: ['seen within 1 min', 'vor höchstens 1 min gesehen'],
  seen10m: ['within 10 min', 'vor höchstens 10 min'],
  seen1h: ['within 1 h', 'vor höchstens 1 h'],
  seenLater: ['longer ago or never', 'länger her oder nie'],
  wholeMap: ['Whole map', 'Ganze Karte'],
  total: ['Devices', 'Geräte'],
  trouble: ['Trouble', 'Probleme'],
  shares: ['Status', 'Status'],
  attention: ['Needs attention', 'Braucht Aufmerksamkeit'],
  calm: ['Nothing needs attention.', 'Gerade braucht nichts Aufmerksamkeit.'],
  allHidden: [
    'Everything that needs attention is hidden.',
    'Alles, was Aufmerksamkeit braucht, ist ausgeblendet.',
  ],
  takenOver: [
    {
      one: 'Nothing new. {n} open alert is acknowledged or snoozed.',
      other: 'Nothing new. {n} open alerts are acknowledged or snoozed.',
    },
    {
      one: 'Nichts Neues. {n} offener Alarm ist bestätigt oder zurückgestellt.',
      other: 'Nichts Neues. {n} offene Alarme sind bestätigt oder zurückgestellt.',
    },
  ],
  hidden: [
    {
      one: '{n} item is hidden until it changes · show',
      other: '{n} items are hidden until they change · show',
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
    { one: '{n} device is flapping', other: '{n} devices are flapping' },
    { one: '{n} Gerät kommt und geht', other: '{n} Geräte kommen und gehen' },
  ],
  'out-of-sync': [
    {
      one: '{n} device has a shadow out of sync',
      other: '{n} devices have a shadow out of sync',
    },
    {
      one: '{n} Gerät hat seinen Shadow nicht übernommen',
      other: '{n} Geräte haben ihren Shadow nicht übernommen',
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
    'Some items could not be loaded and may be missing.',
    'Manche Fälle ließen sich nicht lesen und fehlen vielleicht.',
  ],
  lagUnknown: ['lag unknown', 'Rückstand unbekannt'],
  onlineDay: ['Online over 24 h', 'Online in den letzten 24 h'],
  daySaid: [
    '{now} online now, minimum {least}, maximum {most}',
    'jetzt {now} online, mindestens {least}, höchstens {most}',
  ],
  dayMarks: ['Alerts and rollouts', 'Alarme und Rollouts'],
  dayMark: [
    'Alerts: {alerts}, rollouts: {rollouts}, from {time}',
    'Alarme: {alerts}, Rollouts: {rollouts}, ab {time}',
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
  failedCommand: [
    {
      one: '{command}: {n} command failed in the last hour',
      other: '{command}: {n} commands failed in the last hour',
    },
    {
      one: '{command}: {n} Befehl schlug in der letzten Stunde fehl',
      other: '{command}: {n} Befehle schlugen in der letzten Stunde fehl',
    },
  ],
  issue: [
    { one: '{n} device reports the error {issue}', other: '{n} devices report the error {issue}' },
    { one: '{n} Gerät meldet den Fehler {issue}', other: '{n} Geräte melden den Fehler {issue}' },
  ],
  degraded: [
    'The service is degraded. Not working: {parts}',
    'Der Dienst ist eingeschränkt. Es läuft nicht: {parts}',
  ],
  ack: ['Acknowledge {name}', '{name} bestätigen'],
  pause: ['Pause: {name}', 'Anhalten: {name}'],
  paused: [
    'The rollout is paused: no further device starts.',
    'Der Rollout ist angehalten: kein weiteres Gerät beginnt.',
  ],
  notPaused: ['The rollout was not paused: {reason}', 'Der Rollout wurde nicht angehalten: {reason}'],
  replay: ['Replay: {name}', 'Noch einmal verarbeiten: {name}'],
  strip: ['The service now', 'Der Dienst jetzt'],
  sockets: ['sockets', 'Sockets'],
  rowsWaiting: ['rows to insert', 'Zeilen für ClickHouse'],
  points: ['points/s', 'Messwerte/s'],
  ingestLag: ['ingest lag', 'Rückstand'],
  open: ['open commands', 'offene Befehle'],
  alerts: ['open alerts', 'offene Alarme'],
  rollouts: ['active rollouts', 'laufende Rollouts'],
})
