// First import of every entry script, and free of newer syntax: on an old Node this line is all that appears.
const [major, minor] = process.versions.node.split('.').map(Number)

if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`fleet needs Node.js 20.19 or newer; this is ${process.versions.node}\n`)
  process.exit(1)
}
