import os, sys, time, zipfile
out, top = sys.argv[1:3]
when = time.gmtime(int(os.environ['SOURCE_DATE_EPOCH']))[:6]
with zipfile.ZipFile(out, 'w', zipfile.ZIP_DEFLATED, compresslevel=9) as file:
    for path in sorted(os.path.join(f, n) for f, _, names in os.walk(top) for n in names):
        info = zipfile.ZipInfo(path.replace(os.sep, '/'), when)
        info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
        file.writestr(info, open(path, 'rb').read())
