import os, shutil, sys, sysconfig
to = os.path.join(sysconfig.get_path('platlib'), 'umbel')
shutil.rmtree(to, ignore_errors=True)
shutil.copytree('crates/umbel-py/python/umbel', to)
shutil.copy(sys.argv[1], os.path.join(to, '_umbel.pyd' if os.name == 'nt' else '_umbel.abi3.so'))
