// Every entry script imports this file first. It uses no newer syntax, so that an old Node prints this one line.
const [major, minor] = process.versions.node.split('.').map(Number)

if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`fleet needs Node.js 20.19 or newer; this is ${process.versions.node}\n`)
  process.exit(1)
}
